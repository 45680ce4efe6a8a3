#include "profgen/recording_input.h"

#include "base/alloc.h"
#include "base/messages.h"
#include "decode/recording_key.h"
#include "profgen/aggregate_input.h"
#include "profgen/folding.h"
#include "profgen/llvm/debug_info.h"
#include "profgen/recording_program.h"
#include "profgen/recording_store.h"
#include "profgen/sample_mapper.h"

enum {
    /* Trace without samples is cut into some, all of it; how long they are only decides how many
     * call stacks there are to unwind. */
    INSTRUCTIONS_PER_CUT = 1000,
};

struct reader {
    struct csp_profgen *gen;
    struct csp_sample_set *set;  /* to add to; null: to that of `gen`, sample by sample */
    struct csp_folding *folding; /* or null */
    const struct csp_recording_watch *watch;
    struct csp_sample_mapper mapper;
    struct part *parts; /* of the other threads, where samples need no order; or null */
};

/* The samples that one thread makes. */
struct part {
    struct csp_sample_mapper mapper;
    struct csp_sample_set set;
};

static int on_sample(void *user, const struct csp_sample *sample)
{
    struct reader *reader = user;
    const struct csp_recording_watch *watch = reader->watch;
    if (watch && watch->counts && !watch->counts(watch->user, sample))
        return 0;
    if (!reader->set && reader->gen->options.compat)
        csp_profgen_found(reader->gen, sample->callchain_len != 0);
    uint64_t leaf = csp_sample_mapper_add(&reader->mapper, sample);
    if (reader->folding)
        csp_folding_added(reader->folding, 0);
    return watch && watch->sample ? watch->sample(watch->user, sample, leaf) : 0;
}

static void on_any_sample(void *user, unsigned worker, const struct csp_sample *sample)
{
    struct reader *reader = user;
    csp_sample_mapper_add(worker ? &reader->parts[worker - 1].mapper : &reader->mapper, sample);
    if (reader->folding)
        csp_folding_added(reader->folding, worker);
}

static void on_stretch(void *user, unsigned worker, const struct csp_sample *sample,
                       const struct csp_stretch *stretch, csp_branches *turns)
{
    struct reader *reader = user;
    struct csp_sample_mapper *mapper = worker ? &reader->parts[worker - 1].mapper : &reader->mapper;
    csp_sample_mapper_stretch(mapper, sample, stretch, turns);
}

static void on_samples_end(void *user, unsigned worker)
{
    struct reader *reader = user;
    if (reader->folding)
        csp_folding_pause(reader->folding, worker);
}

/* The program is not in the recording; what is may be what was meant. */
static int fail_absent(const struct csp_program *program, struct csp_recording *recording,
                       struct csp_diag *diag)
{
    const char *name = csp_perfdata_path(csp_recording_perfdata(recording));
    const struct csp_image *image;
    char id[41];
    uint32_t number = csp_recording_most_sampled(recording, &image);
    csp_build_id_text(&program->build_id, id);
    if (number == CSP_NO_PROGRAM)
        return csp_fail(diag, CSP_ERR_INPUT, "%s has no samples of %s (build-id %s)", name,
                        program->path, id[0] ? id : "none");
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s has no samples of %s (build-id %s): most are of a process that runs %s",
                    name, program->path, id[0] ? id : "none",
                    csp_spaces_binary(csp_recording_spaces(recording), number)->path);
}

/* A file of the program's name is in the recording, of another build. */
static int fail_another(const struct csp_program *program, const struct csp_build_id *another,
                        struct csp_recording *recording, struct csp_diag *diag)
{
    char ours[41], theirs[41];
    csp_build_id_text(&program->build_id, ours);
    csp_build_id_text(another, theirs);
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s is not the %s that was recorded: its build-id is %s, in %s it is %s",
                    program->path, program->name, ours,
                    csp_perfdata_path(csp_recording_perfdata(recording)), theirs);
}

static int fail_not_ran(const struct csp_program *program, const struct csp_build_id *another,
                        struct csp_recording *recording, struct csp_diag *diag)
{
    return another ? fail_another(program, another, recording, diag)
                   : fail_absent(program, recording, diag);
}

/* Tells which files of the recording are the program. */
static int find_program(struct reader *reader, struct csp_recording *recording,
                        struct csp_diag *diag)
{
    const struct csp_program *program = &reader->gen->program;
    const struct csp_build_id *another;
    size_t found = csp_sample_mapper_begin(&reader->mapper, program,
                                           csp_recording_spaces(recording), &another);
    csp_sample_mapper_into(&reader->mapper, reader->set ? reader->set : &reader->gen->set);
    if (found || (reader->watch && reader->watch->counts && !another))
        return 0;
    return fail_not_ran(program, another, recording, diag);
}

int csp_profgen_check_ran(const struct csp_profgen *gen, struct csp_recording *recording,
                          struct csp_diag *diag)
{
    const struct csp_program *program = &gen->program;
    const struct csp_build_id *another;
    struct csp_sample_mapper mapper;
    if (!program->build_id.size)
        return 0;
    size_t found =
        csp_sample_mapper_begin(&mapper, program, csp_recording_spaces(recording), &another);
    csp_sample_mapper_free(&mapper);
    if (found)
        return 0;
    return fail_not_ran(program, another, recording, diag);
}

int csp_profgen_open_for(struct csp_profgen *gen, const struct csp_profgen_options *options,
                         struct csp_recording *recording, struct csp_diag *diag)
{
    struct csp_messages messages;
    csp_messages_begin(&messages, NULL);
    int error = csp_profgen_open(gen, options, &messages.diag);
    int ran = error ? csp_profgen_check_ran(gen, recording, diag) : 0;
    if (!ran)
        csp_messages_again(messages.kept.data, messages.kept.len, diag);
    if (gen->program.debug)
        csp_debug_info_tell(gen->program.debug, diag);
    csp_messages_free(&messages);
    return ran ? ran : error;
}

static bool is_slice(const struct csp_recording_how *how)
{
    return how->watch && how->watch->counts;
}

/* Delivers the samples. */
static int decode(struct reader *reader, struct csp_recording *recording,
                  const struct csp_recording_how *how, struct csp_diag *diag)
{
    const char *name = csp_perfdata_path(csp_recording_perfdata(recording));
    struct csp_recording_samples_stats stats = {0};
    const struct csp_recording_samples_options options = {
        .create = how->engine,
        .threads = how->threads,
        .sample = reader->parts ? NULL : on_sample,
        .any_sample = reader->parts ? on_any_sample : NULL,
        .stretch = reader->watch ? NULL : on_stretch,
        .samples_end = on_samples_end,
        .user = reader,
        .tee = how->watch ? how->watch->trace : NULL,
        .progress = how->progress,
        .period = is_slice(how) ? 0 : INSTRUCTIONS_PER_CUT};
    int error = csp_recording_samples(recording, &options, &stats, diag);
    if (!error && !is_slice(how) && !stats.stitch.pauses && !stats.cut && !stats.native)
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s has neither samples with a branch history nor trace to cut some "
                         "from: record for longer, or with a smaller --period",
                         name);
    if (!error && !is_slice(how))
        csp_recording_warn_of_missing(recording, diag);
    if (how->stats)
        *how->stats = stats;
    return error;
}

/* An aggregate of nothing yet, of this recording. */
static struct csp_aggregate begin_aggregate(const struct csp_profgen *gen,
                                            const struct csp_recording *recording)
{
    struct csp_aggregate aggregate = {
        .build_id = gen->program.build_id,
        .code = csp_code_digest(&gen->program.code),
        .name = csp_strdup(gen->program.name),
        .set = {.contexts = true, .keep_all = true},
    };
    struct csp_digest digest;
    csp_recording_digest(recording, digest.bytes);
    csp_vec_push(&aggregate.inputs, digest);
    return aggregate;
}

static void begin_parts(struct reader *reader, const struct csp_recording *recording,
                        unsigned count)
{
    const struct csp_build_id *another;
    reader->parts = csp_calloc(count, sizeof *reader->parts);
    for (unsigned i = 0; i < count; i++) {
        struct part *part = &reader->parts[i];
        csp_sample_mapper_begin(&part->mapper, &reader->gen->program,
                                csp_recording_spaces(recording), &another);
        part->set = csp_sample_set_like(reader->set);
        csp_sample_mapper_into(
            &part->mapper, reader->folding ? csp_folding_set(reader->folding, i + 1) : &part->set);
    }
}

static void end_parts(struct reader *reader, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (!reader->folding)
            csp_sample_set_take(reader->set, &reader->parts[i].set, count + 1);
        csp_sample_set_free(&reader->parts[i].set);
        csp_sample_mapper_free(&reader->parts[i].mapper);
    }
    free(reader->parts);
    reader->parts = NULL;
}

/* By several threads, each with a set of its own. */
static int decode_in_parts(struct reader *reader, struct csp_recording *recording,
                           const struct csp_recording_how *how, struct csp_diag *diag)
{
    unsigned others = how->watch || !how->threads ? 0 : how->threads - 1;
    int error = find_program(reader, recording, diag);
    if (!error && others)
        begin_parts(reader, recording, others);
    if (!error)
        error = decode(reader, recording, how, diag);
    if (reader->parts)
        end_parts(reader, others);
    return error;
}

static int decode_aggregate(struct reader *reader, struct csp_recording *recording,
                            const struct csp_recording_how *how, struct csp_aggregate *aggregate,
                            struct csp_diag *diag)
{
    *aggregate = begin_aggregate(reader->gen, recording);
    reader->set = &aggregate->set;
    int error = decode_in_parts(reader, recording, how, diag);
    aggregate->callchains = csp_sample_set_has_callchains(&aggregate->set);
    return error;
}

/* The aggregate of a recording: the one that was kept, or made, and kept. */
static int make_aggregate(struct reader *reader, struct csp_recording *recording,
                          const struct csp_recording_how *how, struct csp_aggregate *aggregate,
                          struct csp_diag *diag)
{
    struct csp_profgen *gen = reader->gen;
    struct csp_run_key key = {0};
    struct csp_messages messages;
    int error = 0;
    bool keep = !how->watch && csp_recording_store_key(gen, recording, &key);
    if (!keep) {
        error = decode_aggregate(reader, recording, how, aggregate, diag);
    } else if (!csp_recording_store_get(gen, &key, aggregate, diag)) {
        csp_aggregate_free(aggregate);
        csp_messages_begin(&messages, diag);
        error = decode_aggregate(reader, recording, how, aggregate, &messages.diag);
        if (!error)
            csp_recording_store_put(gen, &key, aggregate, &messages.kept);
        csp_messages_free(&messages);
    } else {
        csp_debug(diag, "%s: not decoded, because its samples are in the cache",
                  csp_perfdata_path(csp_recording_perfdata(recording)));
    }
    csp_run_key_free(&key);
    return error;
}

/* Notes a recording among the inputs. */
static int note_recording(struct csp_profgen *gen, const struct csp_recording *recording,
                          struct csp_diag *diag)
{
    struct csp_digest digest;
    const csp_digests digests = {.data = &digest, .len = 1};
    if (!gen->options.digests)
        return 0;
    csp_recording_digest(recording, digest.bytes);
    return csp_digests_add(&gen->inputs, &digests, gen->options.duplicates,
                           csp_perfdata_path(csp_recording_perfdata(recording)), diag);
}

/* Without an aggregate. What is to be like llvm-profgen's is made of each sample as it comes: that
 * tool leaves out what an aggregate keeps, and keeps what it leaves out. Slices are added up. */
static int add_samples(struct reader *reader, struct csp_recording *recording,
                       const struct csp_recording_how *how, struct csp_diag *diag)
{
    int error = find_program(reader, recording, diag);
    if (!error && !is_slice(how))
        error = note_recording(reader->gen, recording, diag);
    if (!error)
        error = decode(reader, recording, how, diag);
    return error;
}

/* Whether nobody wants the recording's aggregate, but only what becomes of its samples: not to be
 * kept, watched, written, or added to samples that were. Contexts by lines are one thread's, as
 * lines are looked up one at a time. */
static bool may_fold(const struct csp_profgen *gen, const struct csp_recording_how *how)
{
    enum csp_profgen_mode mode = gen->options.mode;
    bool flat = mode == CSP_PROFGEN_FLAT || mode == CSP_PROFGEN_LINE_FLAT;
    bool lines = !gen->program.uses_probes && !flat;
    return !how->watch && !gen->options.aggregate && !gen->options.store &&
           !gen->set.stats.samples && (how->threads <= 1 || !lines);
}

static int fold_samples(struct reader *reader, struct csp_recording *recording,
                        const struct csp_recording_how *how, struct csp_diag *diag)
{
    struct csp_profgen *gen = reader->gen;
    int error = note_recording(gen, recording, diag);
    if (error)
        return error;
    if (!gen->folding)
        gen->folding = csp_folding_begin(gen, how->threads ? how->threads : 1);
    reader->folding = gen->folding;
    reader->set = csp_folding_set(gen->folding, 0);
    return decode_in_parts(reader, recording, how, diag);
}

int csp_recording_aggregate(struct csp_profgen *gen, struct csp_recording *recording,
                            const struct csp_recording_how *how, struct csp_aggregate *aggregate,
                            struct csp_diag *diag)
{
    struct reader reader = {.gen = gen, .watch = how->watch};
    *aggregate = (struct csp_aggregate){0};
    int error = make_aggregate(&reader, recording, how, aggregate, diag);
    csp_sample_mapper_free(&reader.mapper);
    return error;
}

int csp_profgen_recording(struct csp_profgen *gen, struct csp_recording *recording,
                          const struct csp_recording_how *how, struct csp_diag *diag)
{
    struct csp_aggregate aggregate;
    bool in_order = gen->options.compat || is_slice(how);
    if (in_order || may_fold(gen, how)) {
        struct reader reader = {.gen = gen, .watch = how->watch};
        int error = in_order ? add_samples(&reader, recording, how, diag)
                             : fold_samples(&reader, recording, how, diag);
        csp_sample_mapper_free(&reader.mapper);
        return error;
    }
    int error = csp_recording_aggregate(gen, recording, how, &aggregate, diag);
    if (!error)
        error = csp_profgen_add_aggregate(
            gen, &aggregate, csp_perfdata_path(csp_recording_perfdata(recording)), diag);
    csp_aggregate_free(&aggregate);
    return error;
}
