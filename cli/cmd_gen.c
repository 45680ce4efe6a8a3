/* csprof gen: samples to a profile. */
#include "base/file.h"
#include "base/messages.h"
#include "base/progress.h"
#include "cache/store.h"
#include "cli/gen_each.h"
#include "cli/gen_options.h"
#include "cli/gen_program_open.h"
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

static int generate(struct gen *gen, struct csp_gen_program *program, struct csp_buf *profile,
                    struct csp_diag *diag)
{
    struct csp_profgen *profgen = program->profgen;
    int error = csp_gen_program_open(program, diag);
    for (size_t i = 0; i < gen->scripts.len && !error; i++)
        error = csp_profgen_perf_script(profgen, gen->scripts.data[i], diag);
    if (!error)
        error = csp_profgen_aggregates(profgen, gen->aggregates.data, gen->aggregates.len, diag);
    for (size_t i = 0; i < gen->branch_lists.len && !error; i++)
        error = csp_profgen_branch_list(profgen, gen->branch_lists.data[i], diag);
    for (size_t i = 0; i < gen->unsymbolized.len && !error; i++)
        error = csp_profgen_unsymbolized(profgen, gen->unsymbolized.data[i], diag);
    if (!error && gen->profile_path)
        error = csp_profgen_profile(profgen, gen->profile_path, diag);
    if (!error)
        error = read_recordings(gen, profgen, diag);
    if (!error && gen->data_access_path)
        error = csp_profgen_data_access(profgen, gen->data_access_path, diag);
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
    if (gen->options.only_texts) /* of other inputs it is known in any case */
        csp_run_key_line(key, "distinct samples %d", gen->options.tell_distinct);
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
static int find_or_generate(struct gen *gen, struct csp_gen_program *program,
                            struct csp_buf *profile)
{
    struct csp_profgen *profgen = program->profgen;
    struct csp_store *store = gen->options.store;
    struct csp_run_key key = {0};
    struct csp_messages messages;
    if (find_unopened(gen, profgen, profile))
        return 0;
    int error = csp_gen_program_and_recordings(program);
    if (error || !store)
        return error ? error : generate(gen, program, profile, &gen->cli->diag);
    begin_key(gen, &key);
    for (size_t i = 0; i < gen->recordings.len; i++)
        csp_run_key_recording(&key, gen->recordings.data[i]);
    if (!csp_result_store_get(store, &key, profgen, profile, &gen->cli->diag)) {
        csp_messages_begin(&messages, &gen->cli->diag);
        error = generate(gen, program, profile, &messages.diag);
        if (!error)
            csp_result_store_put(store, &key, profgen, &messages.kept, profile);
        csp_messages_free(&messages);
    }
    csp_run_key_free(&key);
    return error;
}

/* One profile of one binary. Returns an exit code. The end of the process gives back the memory of
 * the last one faster than freeing it piece by piece; who looks for lost memory finds it here. */
static int run_one(struct gen *gen)
{
    static struct csp_profgen profgen;
    struct csp_gen_program program;
    struct csp_buf profile = {0};
    if (gen->resume && is_done(gen)) {
        csp_cli_resumed(gen->cli, gen->output_path);
        return CSP_EXIT_DONE;
    }
    profgen = (struct csp_profgen){0};
    csp_gen_program_begin(&program, gen, &profgen);
    int error = find_or_generate(gen, &program, &profile);
    if (!error)
        error = csp_output_write(gen->output_path, profile.data, profile.len, &gen->cli->diag);
    if (!error)
        error = csp_gen_check_quality(gen, &profgen.stats.checks);
    if (!error || error == -CSP_ERR_QUALITY)
        csp_gen_print_summary(gen, &profgen);
    csp_gen_program_end(&program);
    if (error || !gen->is_last) /* after an error a thread may still be reading lines */
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
        csp_cli_print(&text);
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
    gen->is_last = !each;
    gen->options.only_texts = gen->scripts.len && !gen->inputs.len && !gen->aggregates.len &&
                              !gen->branch_lists.len && !gen->unsymbolized.len &&
                              !gen->profile_path && !gen->data_access_path;
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
    gen.options.tell_distinct = cli->json;
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
    .usage = csp_gen_usage,
    .run = run,
};
