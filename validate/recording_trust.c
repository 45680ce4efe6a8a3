#include "validate/recording_trust.h"

#include "decode/recording_contents.h"

#include <stdlib.h>
#include <string.h>

/* Rows being counted, by name. */
struct row_table {
    struct csp_intern names;
    csp_trust_rows rows;
};

struct collector {
    struct csp_recording_trust *trust;
    struct csp_recording *recording;
    struct csp_profgen *profgen; /* null: the program is not known */
    struct row_table threads, files, functions;
    struct csp_buf name;
};

uint64_t csp_trust_stitched(const struct csp_trust_row *row)
{
    return row->verdicts[CSP_VERDICT_EXACT] + row->verdicts[CSP_VERDICT_TIME] +
           row->verdicts[CSP_VERDICT_ORDER] + row->verdicts[CSP_VERDICT_NATIVE];
}

static void count_sample(struct csp_trust_row *row, const struct csp_sample *sample)
{
    row->samples++;
    row->verdicts[sample->verdict]++;
    row->unstitched[sample->unstitched]++;
}

/* Counts in the row of the name that was put together. */
static void count_named(struct row_table *table, const struct csp_buf *name,
                        const struct csp_sample *sample)
{
    uint32_t id = csp_intern(&table->names, name->data, name->len);
    if (id == table->rows.len)
        csp_vec_push(&table->rows, (struct csp_trust_row){.name = csp_strdup(name->data)});
    count_sample(&table->rows.data[id], sample);
}

static void name_thread(struct collector *collector, const struct csp_sample *sample)
{
    const char *comm = csp_spaces_comm(csp_recording_spaces(collector->recording), sample->pid);
    collector->name.len = 0;
    csp_buf_printf(&collector->name, "%u/%u %s", sample->pid, sample->tid, comm ? comm : "");
}

static void name_file(struct collector *collector, const struct csp_sample *sample)
{
    struct csp_location location;
    const char *path = "no file";
    if (sample->callchain_len &&
        csp_recording_locate(collector->recording, sample->pid, sample->time, sample->callchain[0],
                             &location))
        path = csp_spaces_binary(csp_recording_spaces(collector->recording), location.binary)->path;
    collector->name.len = 0;
    csp_buf_add_string(&collector->name, path);
}

static void name_function(struct collector *collector, uint64_t address)
{
    const struct csp_program *program = &collector->profgen->program;
    uint32_t function = csp_functions_at(&program->functions, address);
    collector->name.len = 0;
    csp_buf_add_string(
        &collector->name,
        function == CSP_NO_FUNCTION
            ? "no function"
            : csp_intern_text(&program->names, program->functions.functions.data[function].name));
}

static int on_sample(void *user, const struct csp_sample *sample, uint64_t leaf)
{
    struct collector *collector = user;
    count_sample(&collector->trust->all, sample);
    name_thread(collector, sample);
    count_named(&collector->threads, &collector->name, sample);
    name_file(collector, sample);
    count_named(&collector->files, &collector->name, sample);
    if (leaf != CSP_EXTERNAL) {
        name_function(collector, leaf);
        count_named(&collector->functions, &collector->name, sample);
    }
    return 0;
}

static int on_unmapped_sample(void *user, const struct csp_sample *sample)
{
    return on_sample(user, sample, CSP_EXTERNAL);
}

static int on_part(void *user, struct csp_trace_part *part)
{
    struct collector *collector = user;
    struct csp_recording_trust *trust = collector->trust;
    for (size_t i = 0; i < part->done.len; i++) {
        struct csp_windows windows = csp_trace_part_windows(part, &part->done.data[i]);
        for (size_t w = 0; w < windows.windows.len; w++) {
            const struct csp_window *window = &windows.windows.data[w];
            const struct csp_run *runs = windows.runs.data + window->run_first;
            uint64_t instructions = 0;
            for (uint32_t k = 0; k < window->run_len; k++)
                instructions += runs[k].instructions;
            trust->windows++;
            trust->cut_windows += window->cut;
            csp_vec_push(&trust->lengths, instructions);
        }
    }
    return 0;
}

static int most_samples_first(const void *x, const void *y)
{
    const struct csp_trust_row *a = x, *b = y;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void take_rows(struct row_table *table, csp_trust_rows *rows)
{
    if (table->rows.len)
        qsort(table->rows.data, table->rows.len, sizeof *table->rows.data, most_samples_first);
    rows->data = table->rows.data;
    rows->len = table->rows.len;
    rows->cap = table->rows.cap;
    csp_intern_free(&table->names);
}

static int ascending(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* How long one trace unit ran, by the samples of those who switched it. */
static uint64_t traced_time(const struct csp_pause_stream *stream)
{
    uint64_t traced = 0;
    size_t resume = 0;
    for (size_t pause = 0; pause < stream->pauses.len; pause++) {
        uint64_t off = stream->pauses.data[pause].time;
        bool on = resume < stream->resumes.len && stream->resumes.data[resume].time <= off;
        if (on)
            traced += off - stream->resumes.data[resume].time;
        while (resume < stream->resumes.len && stream->resumes.data[resume].time <= off)
            resume++;
    }
    return traced;
}

static uint64_t span_of(const struct csp_pause_stream *stream)
{
    size_t pauses = stream->pauses.len, resumes = stream->resumes.len;
    if (!pauses || !resumes)
        return 0;
    uint64_t first = stream->pauses.data[0].time, last = stream->pauses.data[pauses - 1].time;
    uint64_t opened = stream->resumes.data[0].time;
    return last - (opened < first ? opened : first);
}

/* A pause's sample is taken after its sink was drained, which counts as traced. */
static double duty_of(const struct csp_recording *recording)
{
    const struct csp_pause_index *index = &csp_recording_contents(recording)->pauses;
    uint64_t traced = 0, span = 0;
    for (size_t i = 0; i < index->streams.len; i++) {
        traced += traced_time(&index->streams.data[i]);
        span += span_of(&index->streams.data[i]);
    }
    return span ? (double)traced / (double)span : 0;
}

static void read_plan(struct csp_window_plan *plan, const struct csp_perfdata *reader)
{
    const struct csp_attr *resume = NULL, *pause = NULL;
    for (size_t i = 0; i < csp_perfdata_attr_count(reader); i++) {
        const struct csp_attr *attr = csp_perfdata_attr(reader, i);
        resume = attr->aux_action & CSP_AUX_RESUME ? attr : resume;
        pause = attr->aux_action & CSP_AUX_PAUSE ? attr : pause;
    }
    if (!resume || !pause || csp_attr_has(resume, CSP_ATTR_FREQ) ||
        csp_attr_has(pause, CSP_ATTR_FREQ) || !resume->sample_period)
        return;
    plan->resume_period = resume->sample_period;
    plan->pause_period = pause->sample_period;
    bool alike = resume->type == pause->type && resume->config == pause->config;
    plan->staggered = alike && plan->pause_period == plan->resume_period;
    if (plan->staggered)
        return;
    plan->free_running = alike;
    /* See collect/plan.c: a free-running pause comes at any moment of its period. */
    plan->length = (double)plan->pause_period / (plan->free_running ? 2 : 1);
    plan->duty = plan->length / (double)plan->resume_period;
}

/* Hot code is where most samples were taken, with a history or without: are there histories of it?
 */
static void measure_coverage(struct csp_recording_trust *trust)
{
    uint64_t all = 0, covered = 0, seen = 0;
    for (size_t i = 0; i < trust->functions.len; i++) {
        const struct csp_trust_row *row = &trust->functions.data[i];
        all += row->samples;
        covered += csp_trust_stitched(row) ? row->samples : 0;
    }
    trust->covered = csp_rate_of(covered, all);
    for (size_t i = 0; i < trust->functions.len && seen * 10 < all * 9; i++) {
        seen += trust->functions.data[i].samples;
        trust->hot_functions++;
        trust->hot_not_covered += !csp_trust_stitched(&trust->functions.data[i]);
    }
}

static uint64_t code_bytes(const struct csp_program *program)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < program->code.sections.len; i++)
        bytes += program->code.sections.data[i].end - program->code.sections.data[i].start;
    return bytes;
}

static int read_with_program(struct collector *collector,
                             const struct csp_recording_trust_options *options,
                             struct csp_diag *diag)
{
    struct csp_recording_trust *trust = collector->trust;
    struct csp_profgen *profgen = collector->profgen;
    const struct csp_trace_consumer trace = {.part = on_part, .user = collector};
    const struct csp_recording_watch watch = {
        .sample = on_sample, .trace = &trace, .user = collector};
    const struct csp_recording_how how = {.engine = options->engine,
                                          .threads = options->threads,
                                          .watch = &watch,
                                          .progress = options->progress,
                                          .stats = &trust->samples};
    int error = csp_profgen_recording(profgen, collector->recording, &how, diag);
    if (error)
        return error;
    struct csp_buf profile = {0};
    if (csp_profgen_finish(profgen, &profile, NULL))
        csp_warn(diag, "no profile can be made of this recording; `csprof gen` tells why");
    csp_buf_free(&profile);
    uint64_t bytes = code_bytes(&profgen->program);
    trust->checks = profgen->stats.checks;
    trust->density = profgen->stats.profile.density;
    trust->branches_per_byte =
        (double)profgen->stats.samples.branches / (double)(bytes ? bytes : 1);
    return 0;
}

static int read_without_program(struct collector *collector,
                                const struct csp_recording_trust_options *options,
                                struct csp_diag *diag)
{
    const struct csp_trace_consumer trace = {.part = on_part, .user = collector};
    const struct csp_recording_samples_options how = {.create = options->engine,
                                                      .threads = options->threads,
                                                      .sample = on_unmapped_sample,
                                                      .user = collector,
                                                      .tee = &trace,
                                                      .progress = options->progress};
    return csp_recording_samples(collector->recording, &how, &collector->trust->samples, diag);
}

/* Opens the program to look for contradictions in; false when there is none. */
static bool open_program(struct csp_profgen *profgen, struct csp_recording *recording,
                         const struct csp_recording_trust_options *options, struct csp_diag *diag)
{
    const char *path = options->binary;
    if (!path && csp_recording_main_program(recording, &path, NULL)) {
        csp_warn(diag, "the program that was recorded is not known or not found: its functions and "
                       "contradictions are left out; name its file with -b");
        return false;
    }
    struct csp_profgen_options how = csp_profgen_defaults();
    how.binary_path = path;
    how.rules = options->rules;
    how.threads = options->threads;
    if (!csp_profgen_open_for(profgen, &how, recording, options->binary ? diag : NULL))
        return true;
    if (!options->binary)
        csp_warn(diag,
                 "%s cannot be used as a program to profile (`csprof gen` tells why): its "
                 "functions and contradictions are left out",
                 path);
    return false;
}

static int read_all(struct collector *collector, const struct csp_recording_trust_options *options,
                    struct csp_diag *diag)
{
    struct csp_recording_trust *trust = collector->trust;
    struct csp_profgen profgen = {0};
    int error;
    if (open_program(&profgen, collector->recording, options, diag)) {
        collector->profgen = &profgen;
        trust->binary = csp_strdup(profgen.program.path);
        error = read_with_program(collector, options, diag);
    } else if (options->binary) {
        error = -CSP_ERR_INPUT; /* told already */
    } else {
        error = read_without_program(collector, options, diag);
    }
    csp_profgen_close(&profgen);
    return error;
}

int csp_recording_trust(struct csp_recording_trust *trust,
                        const struct csp_recording_trust_options *options, struct csp_diag *diag)
{
    const struct csp_image_options images = {.symfs = options->symfs, .program = options->binary};
    *trust = (struct csp_recording_trust){.recording = options->path, .rules = options->rules};
    struct collector collector = {.trust = trust};
    int error =
        csp_recording_open(&collector.recording, options->path, &images, options->threads, diag);
    if (!error && !csp_recording_has_samples(collector.recording))
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s has no samples with a branch history: neither pauses of a trace unit "
                         "nor branch stacks",
                         options->path);
    if (!error) {
        read_plan(&trust->plan, csp_recording_perfdata(collector.recording));
        trust->duty = duty_of(collector.recording);
        error = read_all(&collector, options, diag);
    }
    if (trust->lengths.len)
        qsort(trust->lengths.data, trust->lengths.len, sizeof *trust->lengths.data, ascending);
    take_rows(&collector.threads, &trust->threads);
    take_rows(&collector.files, &trust->files);
    take_rows(&collector.functions, &trust->functions);
    measure_coverage(trust);
    csp_buf_free(&collector.name);
    csp_recording_close(collector.recording);
    return error;
}

static void free_rows(csp_trust_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++)
        free(rows->data[i].name);
    csp_vec_free(rows);
}

void csp_recording_trust_free(struct csp_recording_trust *trust)
{
    free_rows(&trust->threads);
    free_rows(&trust->files);
    free_rows(&trust->functions);
    csp_vec_free(&trust->lengths);
    free((char *)(uintptr_t)trust->binary);
}

struct csp_rate csp_trust_bogus(const struct csp_recording_trust *trust)
{
    return csp_rate_of(trust->checks.rejected, trust->checks.checked);
}
