/* csprof collect: runs a program, or attaches to what runs, and records it. */
#include "cli/collect_options.h"

#include "base/parse.h"
#include "emulate/pmu.h"
#include "emulate/trace_core.h"

#include <string.h>

static bool parse_choice(const char *value, const char *const *names, uint32_t *choice)
{
    for (uint32_t i = 0; names[i]; i++)
        if (!strcmp(value, names[i])) {
            *choice = i;
            return true;
        }
    return false;
}

/* Counts beyond this would overflow the arithmetic of the virtual PMU. */
static bool parse_cycles(const char *value, uint64_t least, uint64_t *cycles)
{
    return csp_parse_count(value, cycles) && *cycles >= least && *cycles <= UINT64_C(1) << 48;
}

static bool parse_ids(const char *value, struct csp_tids *ids)
{
    for (const char *at = value;; at++) {
        char *end;
        unsigned long id = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (!id || id > INT32_MAX || (*end && *end != ','))
            return false;
        csp_vec_push(&ids->tids, (uint32_t)id);
        at = end;
        if (!*at)
            return true;
    }
}

static bool parse_power_of_two(const char *value, uint64_t *size)
{
    return csp_parse_count(value, size) && *size >= 16384 && *size <= UINT64_C(1) << 30 &&
           (*size & (*size - 1)) == 0;
}

/* Adds bits of TRCCONFIGR. */
static bool parse_trace_options(const char *value, uint32_t *configr)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } options[] = {
        {"retstack", CSP_CONFIGR_RETURN_STACK},
        {"cyclecount", CSP_CONFIGR_CYCLE_COUNT},
        {"branch-broadcast", CSP_CONFIGR_BRANCH_BROADCAST},
    };
    for (;; value++) {
        size_t length = strcspn(value, ","), i = 0, count = sizeof options / sizeof *options;
        while (i < count &&
               (strlen(options[i].name) != length || strncmp(value, options[i].name, length) != 0))
            i++;
        if (i == count)
            return false;
        *configr |= options[i].bit;
        value += length;
        if (!*value)
            return true;
    }
}

/* Whether an option is one of its kind of recording; `good` says whether its value makes sense. */
static bool parse_emulated(struct csp_collect *collect, const char *name, const char *value,
                           bool *good)
{
    static const char *const protocols[] = {"etmv4", "ete", NULL};
    static const char *const strategies[] = {"pulse", "free-running", NULL};
    static const char *const granularities[] = {"insn", "block", NULL};
    struct csp_emulate_options *options = &collect->emulation;
    struct csp_emulate_settings *settings = &options->settings;
    if (!strcmp(name, "--truth"))
        options->truth = value;
    else if (!strcmp(name, "--fault"))
        *good = csp_faults_parse(&options->faults, value, &collect->cli->diag) == 0;
    else if (!strcmp(name, "--fault-ledger"))
        options->ledger = value;
    else if (!strcmp(name, "--keep-journal"))
        options->journal = value;
    else if (!strcmp(name, "--sysroot"))
        options->sysroot = value;
    else if (!strcmp(name, "--qemu"))
        options->qemu = value;
    else if (!strcmp(name, "--window"))
        *good = parse_cycles(value, 1, &settings->window);
    else if (!strcmp(name, "--period"))
        *good = parse_cycles(value, 1, &settings->period);
    else if (!strcmp(name, "--skid"))
        *good = parse_cycles(value, 0, &settings->skid);
    else if (!strcmp(name, "--timestamp-interval"))
        *good = parse_cycles(value, 0, &settings->timestamp_interval);
    else if (!strcmp(name, "--trace-options"))
        *good = parse_trace_options(value, &settings->configr);
    else if (!strcmp(name, "--trace-buffer"))
        *good = parse_power_of_two(value, &settings->sink_size);
    else if (!strcmp(name, "--cover"))
        *good = parse_cycles(value, 1, &settings->cover);
    else if (!strcmp(name, "--cover-at"))
        options->cover_at = value;
    else if (!strcmp(name, "--seed"))
        *good = csp_parse_count(value, &settings->seed);
    else if (!strcmp(name, "--protocol"))
        *good = parse_choice(value, protocols, &settings->protocol);
    else if (!strcmp(name, "--strategy"))
        *good = parse_choice(value, strategies, &settings->strategy);
    else if (!strcmp(name, "--emulate-granularity"))
        *good = parse_choice(value, granularities, &settings->whole_blocks);
    else
        return false;
    return true;
}

static bool parse_real(struct csp_collect *collect, const char *name, const char *value, bool *good)
{
    struct csp_session_options *session = &collect->session;
    double number = 0;
    uint64_t count = 0;
    if (!strcmp(name, "-p")) {
        *good = parse_ids(value, &session->pids);
    } else if (!strcmp(name, "-t")) {
        *good = parse_ids(value, &session->tids);
    } else if (!strcmp(name, "-C")) {
        *good = csp_cpu_list_parse(&collect->cpus, value);
        collect->system_wide = true;
    } else if (!strcmp(name, "-G") || !strcmp(name, "--cgroup")) {
        session->cgroup = value;
        collect->system_wide = true;
    } else if (!strcmp(name, "--duration")) {
        *good = csp_parse_real(value, 0.001, 1e9, &number);
        session->duration_ns = (uint64_t)(number * 1e9);
    } else if (!strcmp(name, "--max-size")) {
        *good = csp_parse_count(value, &session->size_limit) && session->size_limit;
    } else if (!strcmp(name, "--rotate")) {
        *good = csp_parse_count(value, &count) && count >= 1 && count <= 1000000;
        session->keep_files = (uint32_t)count;
    } else if (!strcmp(name, "--strategy")) {
        collect->automatic = !strcmp(value, "auto");
        *good = collect->automatic || csp_strategy_parse(value, &collect->strategy);
    } else if (!strcmp(name, "--pulse")) {
        *good = (collect->pulse = csp_pulse_named(value)) != NULL;
    } else if (!strcmp(name, "--resume-at")) {
        collect->resume_at = value;
    } else if (!strcmp(name, "--pause-at")) {
        collect->pause_at = value;
    } else if (!strcmp(name, "--samples")) {
        *good = csp_parse_real(value, 0.1, 1e6, &collect->samples);
    } else if (!strcmp(name, "--overhead")) {
        *good = csp_parse_real(value, 0.01, 100, &number);
        collect->overhead = number / 100;
    } else if (!strcmp(name, "--window")) {
        *good = parse_cycles(value, 1, &collect->window);
    } else if (!strcmp(name, "--period")) {
        *good = parse_cycles(value, 1, &collect->period);
    } else if (!strcmp(name, "--buffer")) {
        *good = parse_power_of_two(value, &session->data_size);
    } else if (!strcmp(name, "--trace-buffer")) {
        *good = parse_power_of_two(value, &session->aux_size);
    } else if (!strcmp(name, "--sysfs")) {
        collect->sysfs = value;
    } else if (!strcmp(name, "-b")) {
        collect->binary = value;
    } else if (!strcmp(name, "--symfs")) {
        collect->symfs = value;
    } else if (!strcmp(name, "--until-stable")) {
        *good = csp_parse_real(value, 1, 100, &collect->stable_percent);
    } else if (!strcmp(name, "--live-cpu")) {
        *good = csp_parse_real(value, 0.1, 10000, &collect->live_cpu_percent);
    } else if (!strcmp(name, "--live-slice")) {
        *good = csp_parse_count(value, &collect->slice_size) && collect->slice_size;
    } else {
        return false;
    }
    return true;
}

/* Names what could have been said, where that can be listed. */
static int refuse(const struct csp_collect *collect, const char *name, const char *value)
{
    struct csp_buf values = {0};
    if (!strcmp(name, "--pulse"))
        for (const struct csp_pulse *pulse = csp_pulses; pulse->config; pulse++) {
            char *text = csp_pulse_text(pulse);
            csp_buf_printf(&values, "%s%s", values.len ? "; " : ": it is one of ", text);
            free(text);
        }
    if (!strcmp(name, "--strategy") && !collect->emulate)
        for (int i = 0; i < CSP_STRATEGIES; i++)
            csp_buf_printf(&values, "%s%s", i ? ", " : ": it is one of auto, ",
                           csp_strategy_name((enum csp_strategy)i));
    int code = csp_cli_usage(collect->cli, "%s: '%s' is not a value for it%s", name, value,
                             values.len ? values.data : "");
    csp_buf_free(&values);
    return code;
}

static int parse_option(struct csp_collect *collect, const char *name, const char *value)
{
    struct csp_collect other = *collect;
    bool good = true, known;
    if (!strcmp(name, "-o")) {
        collect->output = value;
        return 0;
    }
    known = collect->emulate ? parse_emulated(collect, name, value, &good)
                             : parse_real(collect, name, value, &good);
    if (known && !good)
        return refuse(collect, name, value);
    if (known)
        return 0;
    if (!collect->emulate && parse_emulated(&other, name, value, &good))
        return csp_cli_usage(collect->cli, "%s is for --emulate alone", name);
    return csp_cli_unexpected(collect->cli, name, NULL);
}

static bool is_switch(const char *name)
{
    return !strcmp(name, "--emulate") || !strcmp(name, "-a") || !strcmp(name, "--dry-run") ||
           !strcmp(name, "--live");
}

static const char compression_option[] = "--compression-level";

/* -z, -zN, or the long name with =N: as perf record has it, a level of its own word is none. */
static bool is_compression(const char *word)
{
    size_t length = sizeof compression_option - 1;
    return !strncmp(word, "-z", 2) ||
           (!strncmp(word, compression_option, length) && (!word[length] || word[length] == '='));
}

static int parse_compression(struct csp_collect *collect, const char *word)
{
    const char *level = word[1] == 'z' ? word + 2 : word + sizeof compression_option - 1;
    uint64_t number = 1;
    level += *level == '=';
    bool bare = !*level && level[-1] != '=';
    if (collect->emulate)
        return csp_cli_usage(collect->cli, "%s is not for --emulate", word);
    if (!bare && (!csp_parse_count(level, &number) || number < 1 || number > 22))
        return csp_cli_usage(collect->cli,
                             "%s: the level is a number from 1 (fast, what -z alone means) to 22 "
                             "(small)",
                             word);
    collect->session.compression = (int)number;
    return 0;
}

/* It decides what the other options mean, wherever it stands among them. */
static bool asks_for_emulation(int argc, char **argv)
{
    for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        if (!strcmp(argv[i], "--emulate"))
            return true;
        i += !is_switch(argv[i]) && !is_compression(argv[i]); /* its value */
    }
    return false;
}

static bool parse_switch(struct csp_collect *collect, const char *name)
{
    if (!is_switch(name) || (collect->emulate && strcmp(name, "--emulate") != 0))
        return false;
    collect->system_wide |= !strcmp(name, "-a");
    collect->dry_run |= !strcmp(name, "--dry-run");
    collect->live |= !strcmp(name, "--live");
    return true;
}

/* Options end at "--" or at the first word that is none: the program. */
static int parse_options(struct csp_collect *collect, int argc, char **argv)
{
    int i = 1;
    collect->emulate = asks_for_emulation(argc, argv);
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (is_compression(argv[i])) {
            int code = parse_compression(collect, argv[i]);
            if (code)
                return code;
            continue;
        }
        if (parse_switch(collect, argv[i]))
            continue;
        if (i + 1 == argc)
            return csp_cli_usage(collect->cli, "%s needs a value, or is unknown", argv[i]);
        int code = parse_option(collect, argv[i], argv[i + 1]);
        if (code)
            return code;
        i++;
    }
    collect->command = argv + i;
    return 0;
}

/* One thing to record, no more. */
static int check_options(const struct csp_collect *collect)
{
    bool command = collect->command[0] != NULL;
    bool tasks = collect->session.pids.tids.len || collect->session.tids.tids.len;
    if (collect->emulate)
        return command ? 0 : csp_cli_usage(collect->cli, "no program to run was given");
    if (command + tasks + (collect->system_wide && !command) > 1)
        return csp_cli_usage(collect->cli, "-p and -t go with neither -a, -C, -G nor a program");
    if (command && collect->system_wide)
        return csp_cli_usage(collect->cli,
                             "-a, -C and -G record what runs anyway: start the program "
                             "by itself, or leave them out");
    if (!collect->resume_at != !collect->pause_at ||
        (collect->strategy == CSP_STRATEGY_TRACEPOINT && !collect->automatic && !collect->pause_at))
        return csp_cli_usage(collect->cli, "tracepoints are needed for both ends of a window: "
                                           "--resume-at and --pause-at");
    bool for_live =
        collect->binary || collect->symfs || collect->stable_percent > 0 || collect->slice_size;
    if (for_live && !collect->live)
        return csp_cli_usage(collect->cli,
                             "-b, --symfs, --until-stable and --live-... go with --live");
    if (collect->live && collect->session.size_limit)
        return csp_cli_usage(collect->cli, "--live writes no recording whose size --max-size could "
                                           "limit");
    if (collect->live && collect->session.compression)
        return csp_cli_usage(collect->cli, "--live writes no recording that -z could compress");
    if (collect->session.keep_files && !collect->session.size_limit)
        return csp_cli_usage(collect->cli, "--rotate needs --max-size: when to go on in the next "
                                           "file");
    if (collect->sysfs && !collect->dry_run)
        return csp_cli_usage(collect->cli, "--sysfs is for --dry-run: only this machine records");
    if (command || tasks || collect->system_wide || collect->dry_run)
        return 0;
    return csp_cli_usage(collect->cli, "nothing to record: give a program, or -p, -t, -a, -C, -G");
}

static int record(struct csp_collect *collect)
{
    if (collect->emulate)
        return csp_collect_emulated(collect);
    if (!collect->live || collect->dry_run)
        return csp_collect_real(collect);
#ifdef CSPROF_RECORDER_ONLY
    return csp_cli_usage(collect->cli,
                         "this csprof can only record: --live needs one that decodes");
#else
    return csp_collect_live(collect);
#endif
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct csp_collect collect = {
        .cli = cli,
        .recorder_command = (const char *const *)argv,
        .automatic = true,
        .emulation = {.settings = {.window = 1000,
                                   .period = 20011,
                                   .skid = 40,
                                   .configr = CSP_CONFIGR_CONTEXT_ID | CSP_CONFIGR_TIMESTAMP,
                                   .sink_size = 4 << 20,
                                   .timestamp_interval = 1000,
                                   .seed = 1},
                      .qemu = "qemu-aarch64"},
    };
    int code = parse_options(&collect, argc, argv);
    if (!code)
        code = check_options(&collect);
    if (!collect.output)
        collect.output = collect.live ? "csprof.prof" : CSP_CLI_RECORDING;
    if (!code)
        code = record(&collect);
    csp_vec_free(&collect.session.pids.tids);
    csp_vec_free(&collect.session.tids.tids);
    csp_cpu_list_free(&collect.cpus);
    return code;
}

const struct csp_command csp_command_collect = {
    .name = "collect",
    .summary = "record a program",
    .usage = csp_collect_usage,
    .run = run,
};
