/* csprof gen: samples to a profile. */
#include "base/file.h"
#include "base/messages.h"
#include "base/progress.h"
#include "cache/store.h"
#include "cli/gen_each.h"
#include "cli/gen_options.h"
#include "cli/gen_recordings.h"
#include "cli/gen_report.h"
#include "collect/binary_check.h"
#include "profgen/aggregate_input.h"
#include "profgen/result_store.h"
#include "profgen/resume.h"

static int read_recordings(struct gen *gen, struct csp_profgen *profgen, struct csp_diag *diag)
{
    int error = 0;
    for (size_t i = 0; i < gen->recordings.len && !error; i++) {
        struct csp_progress progress;
        const struct csp_recording_how how = {
            .engine = gen->engine, .threads = gen->cli->threads, .progress = &progress};
        csp_progress_begin(&progress, "decoding", 0, gen->cli->quiet);
        error = csp_profgen_recording(profgen, gen->recordings.data[i], &how, diag);
        csp_progress_end(&progress);
    }
    return error;
}

/* Callchains are what the kernel finds along frame pointers. */
static void warn_of_frames(const struct csp_profgen *profgen, struct csp_diag *diag)
{
    struct csp_frame_use use;
    const char *path = profgen->program.path;
    if (csp_frame_use_of(&use, path, NULL) < 0 || csp_frame_use_good(&use))
        return;
    csp_warn(
        diag,
        "%s: %u of its %u functions that call others keep no frame pointer, so that callchains "
        "lack callers and contexts are incomplete: compile with "
        "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer",
        path, use.callers - use.with_frames, use.callers);
}

static int generate(struct gen *gen, struct csp_profgen *profgen, struct csp_buf *profile,
                    struct csp_diag *diag)
{
    int error = csp_profgen_open(profgen, &gen->options, diag);
    for (size_t i = 0; i < gen->scripts.len && !error; i++)
        error = csp_profgen_perf_script(profgen, gen->scripts.data[i], diag);
    for (size_t i = 0; i < gen->aggregates.len && !error; i++)
        error = csp_profgen_aggregate(profgen, gen->aggregates.data[i], diag);
    for (size_t i = 0; i < gen->branch_lists.len && !error; i++)
        error = csp_profgen_branch_list(profgen, gen->branch_lists.data[i], diag);
    for (size_t i = 0; i < gen->unsymbolized.len && !error; i++)
        error = csp_profgen_unsymbolized(profgen, gen->unsymbolized.data[i], diag);
    if (!error && gen->profile_path)
        error = csp_profgen_profile(profgen, gen->profile_path, diag);
    if (!error && gen->data_access_path)
        error = csp_profgen_data_access(profgen, gen->data_access_path, diag);
    if (!error)
        error = read_recordings(gen, profgen, diag);
    if (!error)
        error = csp_profgen_finish(profgen, profile, diag);
    if (!error && gen->recordings.len && !profgen->flat && !gen->options.aggregate &&
        !gen->options.bolt)
        warn_of_frames(profgen, diag);
    return error;
}

/* What the result and its messages depend on, beside the recordings. */
static void begin_key(struct gen *gen, struct csp_run_key *key)
{
    const struct csp_program_options program = csp_profgen_program_options(&gen->options);
    csp_run_key_begin(key, "profile 1");
    csp_gen_options_key(gen, key);
    csp_run_key_program(key, &program);
    for (size_t i = 0; i < gen->scripts.len; i++)
        csp_run_key_file(key, "script", gen->scripts.data[i]);
    for (size_t i = 0; i < gen->aggregates.len; i++)
        csp_run_key_file(key, "aggregate", gen->aggregates.data[i]);
    for (size_t i = 0; i < gen->branch_lists.len; i++)
        csp_run_key_file(key, "branches", gen->branch_lists.data[i]);
    for (size_t i = 0; i < gen->unsymbolized.len; i++)
        csp_run_key_file(key, "counters", gen->unsymbolized.data[i]);
    csp_run_key_file(key, "profile", gen->profile_path);
    csp_run_key_file(key, "accesses", gen->data_access_path);
}

/* Whether the output is there already, of these very inputs. */
static bool is_done(const struct gen *gen)
{
    CSP_VEC(const char *) inputs = {0};
    for (size_t i = 0; i < gen->inputs.len; i++)
        csp_vec_push(&inputs, gen->inputs.data[i]);
    for (size_t i = 0; i < gen->scripts.len; i++)
        csp_vec_push(&inputs, gen->scripts.data[i]);
    for (size_t i = 0; i < gen->aggregates.len; i++)
        csp_vec_push(&inputs, gen->aggregates.data[i]);
    bool done =
        csp_aggregate_is_done(gen->output_path, inputs.data, inputs.len, gen->options.binary_path);
    csp_vec_free(&inputs);
    return done;
}

/* Finds the result without opening the recordings, when what opening them told was kept too. Else
 * nothing was told, and nothing has changed. */
static bool find_unopened(struct gen *gen, struct csp_profgen *profgen, struct csp_buf *profile)
{
    struct csp_gen_known known;
    struct csp_run_key key = {0};
    struct csp_messages messages;
    csp_messages_begin(&messages, NULL);
    bool found = csp_gen_know(gen, &known);
    if (found) {
        begin_key(gen, &key);
        csp_gen_known_key(&known, &key);
        found = csp_result_store_get(gen->options.store, &key, profgen, profile, &messages.diag);
    }
    if (found) {
        csp_gen_known_tell(gen, &known);
        csp_messages_again(messages.kept.data, messages.kept.len, &gen->cli->diag);
    }
    csp_gen_known_free(gen, &known);
    csp_run_key_free(&key);
    csp_messages_free(&messages);
    return found;
}

/* The result: the one that was kept, or made, and kept. */
static int find_or_generate(struct gen *gen, struct csp_profgen *profgen, struct csp_buf *profile)
{
    struct csp_store *store = gen->options.store;
    struct csp_run_key key = {0};
    struct csp_messages messages;
    if (find_unopened(gen, profgen, profile))
        return 0;
    int error = csp_gen_open_recordings(gen);
    if (error || !store)
        return error ? error : generate(gen, profgen, profile, &gen->cli->diag);
    begin_key(gen, &key);
    for (size_t i = 0; i < gen->recordings.len; i++)
        csp_run_key_recording(&key, gen->recordings.data[i]);
    if (!csp_result_store_get(store, &key, profgen, profile, &gen->cli->diag)) {
        csp_messages_begin(&messages, &gen->cli->diag);
        error = generate(gen, profgen, profile, &messages.diag);
        if (!error)
            csp_result_store_put(store, &key, profgen, &messages.kept, profile);
        csp_messages_free(&messages);
    }
    csp_run_key_free(&key);
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

/* One profile of one binary. Returns an exit code. */
static int run_one(struct gen *gen)
{
    struct csp_profgen profgen = {0};
    struct csp_buf profile = {0};
    if (gen->resume && is_done(gen)) {
        csp_cli_resumed(gen->cli, gen->output_path);
        return CSP_EXIT_DONE;
    }
    int error = find_or_generate(gen, &profgen, &profile);
    if (!error)
        error = write_output(gen, &profile);
    if (!error)
        error = csp_gen_check_quality(gen, &profgen.stats.checks);
    if (!error || error == -CSP_ERR_QUALITY)
        csp_gen_print_summary(gen, &profgen);
    csp_profgen_close(&profgen);
    csp_buf_free(&profile);
    csp_gen_close_recordings(gen);
    return (int)csp_error_exit(error);
}

/* A profile of each target. Of files that were only found in the recordings, some may have neither
 * probes nor lines: that is told, and no failure while there is a profile of another. */
static int run_targets(struct gen *gen, const csp_gen_targets *targets)
{
    size_t made = 0;
    int code = CSP_EXIT_DONE;
    for (size_t i = 0; i < targets->len && code == CSP_EXIT_DONE; i++) {
        gen->options.binary_path = targets->data[i].binary;
        gen->output_path = targets->data[i].output;
        code = csp_gen_check_output(gen);
        if (code == CSP_EXIT_DONE)
            code = run_one(gen);
        made += code == CSP_EXIT_DONE;
        bool may_fail = !gen->binaries.len && (made || i + 1 < targets->len);
        if (code == CSP_EXIT_INPUT && may_fail)
            code = CSP_EXIT_DONE;
    }
    if (code == CSP_EXIT_DONE)
        csp_note(&gen->cli->diag, "%zu of %zu binaries have a profile", made, targets->len);
    return code;
}

static int run_each(struct gen *gen)
{
    csp_gen_targets targets = {0};
    struct csp_buf text = {0};
    struct csp_json json = {.out = &text};
    if (gen->cli->json)
        gen->results = &json;
    csp_json_object(&json, NULL);
    csp_json_array(&json, "profiles");
    int code = csp_gen_find_targets(gen, &targets);
    if (code == CSP_EXIT_DONE)
        code = run_targets(gen, &targets);
    csp_json_end(&json);
    csp_json_end(&json);
    if (gen->cli->json && code == CSP_EXIT_DONE)
        fwrite(text.data, 1, text.len, stdout);
    csp_gen_free_targets(&targets);
    csp_buf_free(&text);
    return code;
}

static int run_wanted(struct gen *gen)
{
    bool each = csp_gen_is_pattern(gen->output_path);
    if (gen->binaries.len > 1 && !each)
        return csp_cli_usage(gen->cli, "several binaries have a profile each: -o needs %%b, the "
                                       "binary's name, or %%i, its build-id, in it");
    gen->options.store = csp_store_open_usual(&gen->cli->diag);
    return each ? run_each(gen) : run_one(gen);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct gen gen = {.cli = cli,
                      .options = csp_profgen_defaults(),
                      .output_path = "csprof.prof",
                      .density_threshold = 50,
                      .engine = csp_engine_create_native};
    int code = csp_gen_parse(&gen, argc, argv);
    gen.options.threads = cli->threads;
    if (code == CSP_EXIT_DONE)
        code = csp_gen_check_options(&gen);
    if (code == CSP_EXIT_DONE)
        code = run_wanted(&gen);
    csp_gen_close_recordings(&gen);
    csp_store_close(gen.options.store);
    csp_bundle_close(&gen.bundle);
    csp_vec_free(&gen.inputs);
    csp_vec_free(&gen.scripts);
    csp_vec_free(&gen.aggregates);
    csp_vec_free(&gen.unsymbolized);
    csp_vec_free(&gen.branch_lists);
    csp_vec_free(&gen.binaries);
    return code;
}

const struct csp_command csp_command_gen = {
    .name = "gen",
    .summary = CSP_GEN_SUMMARY,
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
        "  -i FILE             a recording (csprof.data; again for more; --perfdata), an aggregate "
        "or a\n"
        "                      bundle (`csprof help bundle`)\n"
        "  --perfscript FILE   samples as text, as `perf script -F ip,brstack --show-mmap-events`\n"
        "                      prints them (again for more files; --ps; - is standard input)\n"
        "  --aggregate FILE    what `csprof gen --format aggregate` or `csprof merge` wrote (again "
        "for\n"
        "                      more); the profile is that of all their inputs\n"
        "  --allow-duplicates  count an input twice that is there twice; else that is an error\n"
        "  -b, --binary FILE   the binary that ran, not stripped (by default the program that most "
        "of\n"
        "                      the recording's samples were taken in; a library: its file); again "
        "for more,\n"
        "                      with a pattern for -o\n"
        "  --branch-list FILE  what simpleperf's inject writes: counts of ranges and branches\n"
        "  --unsymbolized-profile FILE\n"
        "                      counters by address, as --skip-symbolization writes them (--up)\n"
        "  --llvm-sample-profile FILE\n"
        "                      a profile, to trim, merge or pre-inline its contexts again\n"
        "  --data-access-perftrace FILE\n"
        "                      reads of virtual tables, as `perf report -D` prints samples of "
        "memory\n"
        "                      accesses (flat profiles by lines)\n"
        "  --debug-binary FILE where the debug information is, if not in the binary\n"
        "  --dwp FILE          where split debug information is (by default BINARY.dwp)\n"
        "  --pid N             of texts: only mappings of this process count\n"
        "  --kernel            of texts: the binary is the kernel that ran\n"
        "  --load-function-from-symbol=0\n"
        "                      leave out functions that only the symbol table knows\n"
        "  --symfs DIR         where the recording's files are, instead of at their own paths\n"
        "\n"
        "output:\n"
        "  -o, --output FILE   where to write (csprof.prof); with %b, the binary's file name, or "
        "%i, "
        "its\n"
        "                      build-id, in it (%% is a percent sign then): a profile of each "
        "binary "
        "that\n"
        "                      -b names, or else of each file that samples were taken in\n"
        "  --format F          extbinary (default), text, or binary (no profiles by probes);\n"
        "                      aggregate: all samples, to be merged with others and made a profile "
        "later;\n"
        "                      --resume leaves one as it is that is there, whole, of the same "
        "inputs;\n"
        "                      fdata, preagg: what llvm-bolt -data and perf2bolt -pa read, of any "
        "binary\n"
        "  --mode M            cs: by calling context; flat: without; auto (default): by context "
        "when\n"
        "                      the samples have callchains (--ignore-stack-samples is --mode "
        "flat)\n"
        "                      dwarf-cs, dwarf-flat: by debug lines though there are probes\n"
        "                      (--use-dwarf-correlation); without probes it is by lines anyway\n"
        "  --fill-zero-for-all-funcs\n"
        "                      flat profiles hold functions that did not run, too\n"
        "  --update-total-samples\n"
        "                      by lines: totals are the sums of the counts\n"
        "  --populate-profile-symbol-list\n"
        "                      add the names of all functions (extbinary)\n"
        "  --show-density      tell how well the hot functions were sampled\n"
        "  --profile-density-threshold N, --profile-density-cutoff-hot N\n"
        "                      below which density to ask for more samples (50), and in how many\n"
        "                      millionths of all counts to look (990000)\n"
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
        "  --csspgo-preinliner=0             keep contexts as they were sampled; else those that "
        "the\n"
        "                                    compiler should not inline are merged, by their heat "
        "and\n"
        "                                    the size of their code in the binary\n"
        "  --preinline-across-units          keep calls into other compile units apart, too: for a "
        "build\n"
        "                                    with LTO, when the profiled one was without\n"
        "  --csspgo-replay-preinline         decide as was decided for the binary\n"
        "  --use-context-cost-for-preinliner=0\n"
        "                                    size is the number of places with counts\n"
        "  --sample-profile-hot-inline-threshold N, --sample-profile-cold-inline-threshold N\n"
        "                                    largest size to inline in hot and cold calls (1500, "
        "0)\n"
        "  --csspgo-preinliner-multiplier-for-previous-inlining N\n"
        "                                    times that when the binary has it inlined (100)\n"
        "  --sample-profile-inline-growth-limit N, --sample-profile-inline-limit-min N,\n"
        "  --sample-profile-inline-limit-max N\n"
        "                                    how many times its size a function may grow (12),\n"
        "                                    within these (100, 50000)\n"
        "  --csprof-merge-cold-context       merge cold contexts; =0: keep them apart; by default\n"
        "                                    only without the pre-inliner\n"
        "  --csprof-max-cold-context-depth N frames kept of a cold context (1)\n"
        "  --trim-cold-profile               drop cold functions\n"
        "  --profile-summary-hot-count N     counts from N on are hot (else by the profile's "
        "summary)\n"
        "  --profile-summary-cold-count N    counts below N are cold\n"
        "  --mark-all-context-preinlined     tell the compiler to inline as the contexts say\n"
        "\n"
        "samples:\n"
        "  --validate RULE,...  reject samples that break one of these rules (default: leaf):\n"
        "                         leaf: the sample and its newest branch are in different "
        "functions\n"
        "                         stack: the call stack has another call than the branches show\n"
        "                         fall-through: between two branches it ran over a taken branch\n"
        "                         branch: a branch that the binary does not have there\n"
        "                         return: a return to what no call precedes\n"
        "                         external: a run that begins or ends outside of the binary\n"
        "                         prologue: taken in a prologue or epilogue\n"
        "                       all, none; -v and --json count the samples for every rule\n"
        "  --max-bogus PERCENT  exit with 5 when more samples than that are rejected so\n"
        "\n"
        "  --compat llvm-profgen-22          make the choices of that tool where ours are better\n"
        "\n"
        "exit codes: 0 done; 1 failed; 2 usage; 3 unusable input; 4 environment;\n"
        "5 done, but too many samples contradict themselves (--max-bogus); 75 try again.\n",
    .run = run,
};
