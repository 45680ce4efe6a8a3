/* csprof gen: samples to a profile. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/parse.h"
#include "base/progress.h"
#include "profgen/profgen.h"
#include "profgen/recording_input.h"

#include <stdlib.h>
#include <string.h>

struct gen {
    struct csp_cli *cli;
    struct csp_profgen_options options;
    CSP_VEC(const char *) inputs, scripts;
    CSP_VEC(struct csp_recording *) recordings;
    const char *output_path, *symfs;
    csp_engine_create_fn *engine;
    struct csp_recording_samples_stats recorded;
    bool preinliner;
};

/* How the value of an option is read, and where it goes. */
enum option_kind { SWITCH, SIGNED, COUNT32, COUNT64, TEXT, FILES, WORD };

struct option {
    const char *name;
    enum option_kind kind;
    size_t offset;     /* in struct gen */
    size_t also;       /* COUNT64: the bool that tells it was given */
    const char *words; /* WORD: those accepted, separated by blanks; stored as an int */
};

#define IN(member) offsetof(struct gen, member)

static const struct option options[] = {
    {"-i", FILES, IN(inputs), 0, NULL},
    {"--perfscript", FILES, IN(scripts), 0, NULL},
    {"--ps", FILES, IN(scripts), 0, NULL},
    {"-b", TEXT, IN(options.binary_path), 0, NULL},
    {"--binary", TEXT, IN(options.binary_path), 0, NULL},
    {"-o", TEXT, IN(output_path), 0, NULL},
    {"--output", TEXT, IN(output_path), 0, NULL},
    {"--symfs", TEXT, IN(symfs), 0, NULL},
    {"--format", WORD, IN(options.profile.format), 0, "text extbinary binary"},
    {"--mode", WORD, IN(options.mode), 0, "auto cs flat"},
    {"--csspgo-preinliner", SWITCH, IN(preinliner), 0, NULL},
    {"--gen-cs-nested-profile", SWITCH, IN(options.profile.nested), 0, NULL},
    {"--compress-recursion", SIGNED, IN(options.compress_recursion), 0, NULL},
    {"--csprof-max-context-depth", SIGNED, IN(options.max_context_depth), 0, NULL},
    {"--csprof-max-unsymbolized-context-depth", SIGNED, IN(options.max_unsymbolized_depth), 0,
     NULL},
    {"--infer-missing-frames", SWITCH, IN(options.infer_missing_frames), 0, NULL},
    {"--max-search-depth", COUNT32, IN(options.max_search_depth), 0, NULL},
    {"--csprof-merge-cold-context", SWITCH, IN(options.profile.merge_cold), 0, NULL},
    {"--csprof-max-cold-context-depth", COUNT32, IN(options.profile.cold_context_depth), 0, NULL},
    {"--trim-cold-profile", SWITCH, IN(options.profile.trim_cold), 0, NULL},
    {"--profile-summary-hot-count", COUNT64, IN(options.profile.hot_count),
     IN(options.profile.has_hot_count), NULL},
    {"--profile-summary-cold-count", COUNT64, IN(options.profile.cold_count),
     IN(options.profile.has_cold_count), NULL},
    {"--mark-all-context-preinlined", SWITCH, IN(options.profile.mark_preinlined), 0, NULL},
    {"--use-md5", SWITCH, IN(options.profile.use_md5), 0, NULL},
    {"--compress", SWITCH, IN(options.profile.compress), 0, NULL},
    {"--skip-symbolization", SWITCH, IN(options.skip_symbolization), 0, NULL},
    {"--use-offset", SWITCH, IN(options.use_offset), 0, NULL},
    {"--use-first-loadable-segment-as-base", SWITCH, IN(options.first_segment_base), 0, NULL},
};

static const struct option *find_option(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strlen(options[i].name) == length && !strncmp(options[i].name, name, length))
            return &options[i];
    return NULL;
}

static bool parse_switch(const char *value, bool *on)
{
    *on = !value || !strcmp(value, "1") || !strcmp(value, "true");
    return *on || !strcmp(value, "0") || !strcmp(value, "false");
}

static bool parse_word(const char *words, const char *value, int *number)
{
    size_t length = strlen(value);
    for (*number = 0; *words; ++*number) {
        size_t size = strcspn(words, " ");
        if (size == length && !strncmp(words, value, size))
            return true;
        words += size + (words[size] == ' ');
    }
    return false;
}

static bool set_option(struct gen *gen, const struct option *option, const char *value)
{
    void *at = (char *)gen + option->offset;
    uint64_t count = 0;
    switch (option->kind) {
    case SWITCH:
        return parse_switch(value, at);
    case SIGNED:
        *(int *)at = -1;
        if (!strcmp(value, "-1"))
            return true;
        if (!csp_parse_count(value, &count) || count > INT32_MAX)
            return false;
        *(int *)at = (int)count;
        return true;
    case COUNT32:
        if (!csp_parse_count(value, &count) || count > UINT32_MAX)
            return false;
        *(uint32_t *)at = (uint32_t)count;
        return true;
    case COUNT64:
        *(bool *)((char *)gen + option->also) = true;
        return csp_parse_count(value, at);
    case TEXT:
        *(const char **)at = value;
        return true;
    case FILES:
        if (option->offset == IN(inputs))
            csp_vec_push(&gen->inputs, value);
        else
            csp_vec_push(&gen->scripts, value);
        return true;
    case WORD:
        return parse_word(option->words, value, at);
    }
    return false;
}

/* Reads "--name=value", "--name value" and, for switches, "--name". */
static int parse_options(struct gen *gen, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *equals = argv[i][0] == '-' ? strchr(argv[i], '=') : NULL;
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const char *value = equals ? equals + 1 : NULL;
        if (length == 8 && !strncmp(argv[i], "--compat", 8)) {
            value = value ? value : i + 1 < argc ? argv[++i] : "";
            if (strcmp(value, "llvm-profgen-22") != 0)
                return csp_cli_usage(gen->cli, "--compat takes llvm-profgen-22");
            gen->options.compat = true;
            continue;
        }
        if (length == 22 && !strncmp(argv[i], "--ignore-stack-samples", 22)) {
            bool flat;
            if (!parse_switch(value, &flat))
                return csp_cli_usage(gen->cli, "--ignore-stack-samples takes 0 or 1");
            gen->options.mode = flat ? CSP_PROFGEN_FLAT : CSP_PROFGEN_AUTO;
            continue;
        }
        const struct option *option = find_option(argv[i], length);
        if (!option)
            return csp_cli_usage(gen->cli, "unexpected argument '%s'", argv[i]);
        if (!value && option->kind != SWITCH) {
            if (i + 1 == argc)
                return csp_cli_usage(gen->cli, "%s needs a value", option->name);
            value = argv[++i];
        }
        if (!set_option(gen, option, value))
            return csp_cli_usage(gen->cli, "%s cannot be '%s'%s%s", option->name, value,
                                 option->words ? ": it is one of " : "",
                                 option->words ? option->words : "");
    }
    return CSP_EXIT_DONE;
}

static int check_options(struct gen *gen)
{
    if (gen->inputs.len && gen->scripts.len)
        return csp_cli_usage(gen->cli, "-i and --perfscript do not go together");
    if (gen->scripts.len && !gen->options.binary_path)
        return csp_cli_usage(gen->cli, "--perfscript needs the binary too: name it with -b");
    if (gen->preinliner)
        return csp_cli_usage(gen->cli, "there is no pre-inliner yet: --csspgo-preinliner=0");
    if (!gen->scripts.len && !gen->inputs.len)
        csp_vec_push(&gen->inputs, "csprof.data");
    return CSP_EXIT_DONE;
}

static void print_summary(const struct gen *gen, const struct csp_profgen *profgen)
{
    const struct csp_profgen_stats *stats = &profgen->stats;
    if (gen->cli->json) {
        struct csp_buf text = {0};
        struct csp_json json = {.out = &text};
        csp_json_object(&json, NULL);
        csp_profgen_json(profgen, &json);
        csp_json_string(&json, "output", gen->output_path);
        csp_json_end(&json);
        fwrite(text.data, 1, text.len, stdout);
        csp_buf_free(&text);
        return;
    }
    csp_note(&gen->cli->diag,
             "%s: %llu functions in %llu contexts from %llu of %llu samples, %llu bytes",
             gen->output_path, (unsigned long long)stats->profile.functions,
             (unsigned long long)stats->profile.contexts, (unsigned long long)stats->samples.used,
             (unsigned long long)stats->samples.samples, (unsigned long long)stats->profile_bytes);
}

static int open_recordings(struct gen *gen)
{
    struct csp_diag *diag = &gen->cli->diag;
    const struct csp_image_options images = {.symfs = gen->symfs};
    for (size_t i = 0; i < gen->inputs.len; i++) {
        struct csp_recording *recording = NULL;
        int error = csp_recording_open(&recording, gen->inputs.data[i], &images, diag);
        if (recording)
            csp_vec_push(&gen->recordings, recording);
        if (error)
            return error;
    }
    if (gen->options.binary_path)
        return 0;
    return csp_recording_main_program(gen->recordings.data[0], &gen->options.binary_path, diag);
}

static int read_recordings(struct gen *gen, struct csp_profgen *profgen)
{
    int error = 0;
    for (size_t i = 0; i < gen->recordings.len && !error; i++) {
        struct csp_progress progress;
        csp_progress_begin(&progress, "decoding", 0, gen->cli->quiet);
        error = csp_profgen_recording(profgen, gen->recordings.data[i], gen->engine, &progress,
                                      &gen->recorded, &gen->cli->diag);
        csp_progress_end(&progress);
    }
    return error;
}

static int generate(struct gen *gen, struct csp_profgen *profgen, struct csp_buf *profile)
{
    struct csp_diag *diag = &gen->cli->diag;
    int error = open_recordings(gen);
    if (!error)
        error = csp_profgen_open(profgen, &gen->options, diag);
    for (size_t i = 0; i < gen->scripts.len && !error; i++)
        error = csp_profgen_perf_script(profgen, gen->scripts.data[i], diag);
    if (!error)
        error = read_recordings(gen, profgen);
    if (!error)
        error = csp_profgen_finish(profgen, profile, diag);
    return error;
}

static int write_output(struct gen *gen, const struct csp_buf *profile)
{
    struct csp_output output = {0};
    int error = csp_output_open(&output, gen->output_path, &gen->cli->diag);
    if (error)
        return error;
    fwrite(profile->data, 1, profile->len, output.stream);
    return csp_output_commit(&output, &gen->cli->diag);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct gen gen = {.cli = cli,
                      .options = csp_profgen_defaults(),
                      .output_path = "csprof.prof",
                      .engine = csp_engine_create_native};
    struct csp_profgen profgen = {0};
    struct csp_buf profile = {0};
    int code = parse_options(&gen, argc, argv);
    if (code == CSP_EXIT_DONE)
        code = check_options(&gen);
    if (code == CSP_EXIT_DONE) {
        int error = generate(&gen, &profgen, &profile);
        if (!error)
            error = write_output(&gen, &profile);
        if (!error)
            print_summary(&gen, &profgen);
        code = (int)csp_error_exit(error);
        csp_profgen_close(&profgen);
    }
    csp_buf_free(&profile);
    for (size_t i = 0; i < gen.recordings.len; i++)
        csp_recording_close(gen.recordings.data[i]);
    csp_vec_free(&gen.recordings);
    csp_vec_free(&gen.inputs);
    csp_vec_free(&gen.scripts);
    return code;
}

const struct csp_command csp_command_gen = {
    .name = "gen",
    .summary = "make a profile for clang -fprofile-sample-use from samples",
    .usage =
        "usage: csprof gen [options]\n"
        "\n"
        "Makes a sample profile for clang -fprofile-sample-use, by default context-sensitive, from "
        "the\n"
        "samples of a binary that was built with -fpseudo-probe-for-profiling (on AArch64 also "
        "with\n"
        "-gmlt -fdebug-info-for-profiling). Options may be written --name VALUE or --name=VALUE.\n"
        "\n"
        "input:\n"
        "  -i FILE             a recording (csprof.data; again for more)\n"
        "  --perfscript FILE   samples as text, as `perf script -F ip,brstack --show-mmap-events`\n"
        "                      prints them (again for more files; --ps; - is standard input)\n"
        "  -b, --binary FILE   the binary that ran, not stripped (by default the one that most of\n"
        "                      the recording's callchains are in)\n"
        "  --symfs DIR         where else the recording's files are\n"
        "\n"
        "output:\n"
        "  -o, --output FILE   where to write (csprof.prof)\n"
        "  --format F          extbinary (default), text, or binary (no profiles by probes)\n"
        "  --mode M            cs: by calling context; flat: without; auto (default): by context "
        "when\n"
        "                      the samples have callchains (--ignore-stack-samples is --mode "
        "flat)\n"
        "  --compress          compress the sections of extbinary\n"
        "  --use-md5           write hashes instead of names (extbinary)\n"
        "  --skip-symbolization\n"
        "                      write counters by address instead of a profile\n"
        "  --use-offset=0      … with whole addresses\n"
        "  --use-first-loadable-segment-as-base\n"
        "                      … relative to the first segment instead of the first executable "
        "one\n"
        "\n"
        "contexts:\n"
        "  --gen-cs-nested-profile=0         write [a:1 @ b] contexts instead of nested profiles\n"
        "  --compress-recursion N            longest repeated sequence of calls that is cut to "
        "one;\n"
        "                                    -1 (default): any, 0: none\n"
        "  --csprof-max-context-depth N      frames kept of a context; -1 (default): all\n"
        "  --csprof-max-unsymbolized-context-depth N\n"
        "                                    the same, counting inlined functions as one frame\n"
        "  --infer-missing-frames=0          leave out the frames that tail calls removed\n"
        "  --max-search-depth N              longest chain of tail calls looked for\n"
        "  --csprof-merge-cold-context=0     keep cold contexts apart\n"
        "  --csprof-max-cold-context-depth N frames kept of a cold context (1)\n"
        "  --trim-cold-profile               drop cold functions\n"
        "  --profile-summary-hot-count N     counts from N on are hot (else by the profile's "
        "summary)\n"
        "  --profile-summary-cold-count N    counts below N are cold\n"
        "  --mark-all-context-preinlined     tell the compiler to inline as the contexts say\n"
        "\n"
        "  --compat llvm-profgen-22          make the choices of that tool where ours are better\n"
        "\n"
        "exit codes: 0 done; 1 failed; 2 usage; 3 unusable input; 4 environment; 75 try again.\n",
    .run = run,
};
