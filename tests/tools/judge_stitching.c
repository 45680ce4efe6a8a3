/* Judges the samples of an emulated recording by what really ran and by what was damaged.
 *
 *     judge_stitching [OPTION]... NAME TRUTH LEDGER RECORDING [LEDGER RECORDING]...
 *       --recall X        least share stitched of the samples whose window is whole (0.995)
 *       --wrong-order X   greatest share of wrong ones among those paired by order (0)
 *       --misnamed X      greatest share of those without a history that name a wrong reason (0)
 *       --undecided X     greatest share of all samples that do not tell reasons apart (0)
 *       --table FILE      appends a row of docs/adversary.md's table
 *
 * A pair is right when the sample has the history of its own window, branch for branch. A sample
 * whose window is not in the recording, or not whole, may have none at all. Several recordings of
 * the same run are added up. One line is printed, and one for each thing that is not as it should
 * be.
 */
#include "emulated_truth.h"

#include "base/parse.h"
#include "decode/recording_samples.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct judge {
    const char *name;
    const char *table;
    double recall, wrong_order, misnamed, undecided; /* what is asked for */
    struct emulated_truth truth;
    uint64_t pauses, verdicts[CSP_VERDICT_COUNT], wrong[CSP_VERDICT_COUNT];
    uint64_t whole, right; /* samples whose window is whole, and of those with its history */
    uint64_t to_name, misnamed_count, undecided_count;
    uint64_t twice, unlisted; /* samples: delivered again; that the ledger says are lost */
    bool failed;
    unsigned told;
};

static void complain(struct judge *judge, const char *format, ...)
{
    enum { MOST = 12 };
    va_list arguments;
    judge->failed = true;
    if (judge->told++ >= MOST)
        return;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", judge->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* Histories may be shorter than the truth where code without a file ran between. */
static bool is_history_of(const struct judge *judge, const struct csp_sample *sample,
                          const struct true_window *window)
{
    const struct true_branch *last =
        judge->truth.branches.data + window->branch_first + window->branch_len;
    if (sample->branch_len > window->branch_len || sample->end != window->end)
        return false;
    for (size_t i = 0; i < sample->branch_len; i++)
        if (sample->branches[i].from != last[-1 - (ptrdiff_t)i].from ||
            sample->branches[i].to != last[-1 - (ptrdiff_t)i].to)
            return false;
    if (sample->branch_len == window->branch_len)
        return sample->start == window->start || window->fate == FATE_BEHEADED;
    return !window->one_stretch || window->fate == FATE_BEHEADED;
}

static bool may_have_history(const struct true_window *window)
{
    return window && (window->fate == FATE_WHOLE || window->fate == FATE_BEHEADED);
}

/* Whether a reason is true, if it is one that excludes others. */
static bool is_named(const struct true_window *window, enum csp_unstitched reason)
{
    switch (window ? window->fate : FATE_LOST) {
    case FATE_CUT:
        /* What is left of an unproven one may lie behind the place, where it cannot be decoded. */
        return reason == CSP_UNSTITCHED_CUT ||
               (reason == CSP_UNSTITCHED_NO_WINDOW && window->unproven);
    case FATE_BEGUN:
    case FATE_DOUBTFUL:
        return reason == CSP_UNSTITCHED_CUT || reason == CSP_UNSTITCHED_NO_WINDOW;
    case FATE_WHOLE:
        return (reason == CSP_UNSTITCHED_PC && window->sample == SAMPLE_SKIDDED) ||
               (reason == CSP_UNSTITCHED_CUT && window->unproven);
    default:
        return reason == CSP_UNSTITCHED_NO_WINDOW;
    }
}

static void judge_name(struct judge *judge, const struct csp_sample *sample,
                       const struct true_window *window)
{
    static const char *const fates[FATES] = {"whole",    "lost",  "cut",
                                             "beheaded", "begun", "doubtful"};
    enum csp_unstitched reason = (enum csp_unstitched)sample->unstitched;
    if (sample->verdict == CSP_VERDICT_AMBIGUOUS)
        return;
    judge->to_name++;
    judge->undecided_count += reason == CSP_UNSTITCHED_UNTOLD;
    if (reason == CSP_UNSTITCHED_UNTOLD || is_named(window, reason))
        return;
    judge->misnamed_count++;
    if (judge->misnamed == 0)
        complain(judge, "the sample at %" PRIu64 ", whose window is %s, is said to have: %s",
                 sample->time, window ? fates[window->fate] : "none", csp_unstitched_name(reason));
}

static bool is_stitched(const struct csp_sample *sample)
{
    return sample->verdict == CSP_VERDICT_EXACT || sample->verdict == CSP_VERDICT_TIME ||
           sample->verdict == CSP_VERDICT_ORDER;
}

static int judge_sample(void *user, const struct csp_sample *sample)
{
    struct judge *judge = user;
    struct true_window *window = truth_of_sample(&judge->truth, sample->tid, sample->time);
    judge->verdicts[sample->verdict]++;
    if (window) {
        judge->twice += window->seen;
        judge->unlisted += window->sample == SAMPLE_LOST || window->sample == SAMPLE_THROTTLED;
        window->seen = true;
    }
    bool whole = window && window->fate == FATE_WHOLE && window->sample == SAMPLE_WRITTEN;
    judge->whole += whole;
    if (!is_stitched(sample)) {
        judge_name(judge, sample, window);
        return 0;
    }
    bool right = may_have_history(window) && is_history_of(judge, sample, window);
    judge->right += right && whole;
    judge->wrong[sample->verdict] += !right;
    if (!right && sample->verdict != CSP_VERDICT_ORDER)
        complain(judge, "the sample at %" PRIu64 " (%s) has another's history", sample->time,
                 csp_verdict_name(sample->verdict));
    return 0;
}

static void expect(struct judge *judge, const char *what, uint64_t got, uint64_t expected)
{
    if (got != expected)
        complain(judge, "%s: %" PRIu64 ", expected were %" PRIu64, what, got, expected);
}

/* Everything that was written is accounted for, and everything that was not. */
static void judge_totals(struct judge *judge, const struct csp_recording_samples_stats *stats,
                         const struct csp_auxtrace *aux)
{
    const struct emulated_truth *truth = &judge->truth;
    uint64_t verdicts = 0, gone = 0;
    judge->pauses += truth->pauses;
    for (int i = 0; i < CSP_VERDICT_COUNT; i++)
        verdicts += judge->verdicts[i];
    for (size_t i = 0; i < truth->windows.len; i++) {
        const struct true_window *window = &truth->windows.data[i];
        gone += window->sampled && !window->seen && window->sample != SAMPLE_LOST &&
                window->sample != SAMPLE_THROTTLED;
    }
    expect(judge, "pause samples", stats->stitch.pauses, truth->pauses);
    expect(judge, "verdicts", verdicts, judge->pauses);
    expect(judge, "records lost", stats->lost, truth->lost);
    expect(judge, "bytes of trace", stats->trace.engine.bytes, truth->bytes);
    expect(judge, "bytes of trace not announced", aux->unannounced_bytes, truth->unannounced);
    expect(judge, "samples delivered twice", judge->twice, 0);
    expect(judge, "samples that were lost, delivered", judge->unlisted, 0);
    expect(judge, "samples that nothing tells of", gone, 0);
}

static double share(uint64_t part, uint64_t of)
{
    return of ? (double)part / (double)of : 0;
}

static const char *name_of_time(enum csp_stitch_time time)
{
    static const char *const names[] = {"none", "records", "fitted", "trace"};
    return names[time];
}

static void print_line(const struct judge *judge, const struct csp_stitch_clock *clock)
{
    printf("%-28s %7" PRIu64 " pauses: exact %7" PRIu64 " time %6" PRIu64 " order %6" PRIu64
           " ambiguous %6" PRIu64 " none %6" PRIu64 "; recall %8.4f %%; wrong: exact %" PRIu64
           " time %" PRIu64 " order %" PRIu64 "; of %" PRIu64 " misnamed %" PRIu64
           " undecided %" PRIu64 "; time: %s, lag %" PRId64 " of %" PRId64 "\n",
           judge->name, judge->pauses, judge->verdicts[CSP_VERDICT_EXACT],
           judge->verdicts[CSP_VERDICT_TIME], judge->verdicts[CSP_VERDICT_ORDER],
           judge->verdicts[CSP_VERDICT_AMBIGUOUS], judge->verdicts[CSP_VERDICT_NONE],
           100 * share(judge->right, judge->whole), judge->wrong[CSP_VERDICT_EXACT],
           judge->wrong[CSP_VERDICT_TIME], judge->wrong[CSP_VERDICT_ORDER], judge->to_name,
           judge->misnamed_count, judge->undecided_count, name_of_time(clock->time),
           clock->lag_median, clock->lag_limit);
}

static void judge_shares(struct judge *judge)
{
    double recall = share(judge->right, judge->whole);
    double wrong_order = share(judge->wrong[CSP_VERDICT_ORDER], judge->verdicts[CSP_VERDICT_ORDER]);
    double misnamed = share(judge->misnamed_count, judge->to_name);
    double undecided = share(judge->undecided_count, judge->pauses);
    if (recall < judge->recall)
        complain(judge, "recall is below %g %%", 100 * judge->recall);
    if (wrong_order > judge->wrong_order)
        complain(judge, "of those by order, more than %g %% are wrong", 100 * judge->wrong_order);
    if (misnamed > judge->misnamed)
        complain(judge, "more than %g %% of what is lost have a wrong name", 100 * judge->misnamed);
    if (undecided > judge->undecided)
        complain(judge, "of more than %g %% of all samples the reasons are not told apart",
                 100 * judge->undecided);
}

/* 1234567 as "1,234,567". */
static const char *grouped(uint64_t number, char text[32])
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number), to = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = '\0';
    return text;
}

/* The name is "RUN: WHAT IS WRONG". */
static bool append_row(const struct judge *judge, const struct csp_stitch_clock *clock)
{
    FILE *table = fopen(judge->table, "a");
    if (!table)
        return false;
    const char *colon = strstr(judge->name, ": ");
    int run = colon ? (int)(colon - judge->name) : 0;
    const uint64_t cells[] = {
        judge->pauses,
        judge->verdicts[CSP_VERDICT_EXACT],
        judge->verdicts[CSP_VERDICT_TIME],
        judge->verdicts[CSP_VERDICT_ORDER],
        judge->verdicts[CSP_VERDICT_AMBIGUOUS],
        judge->verdicts[CSP_VERDICT_NONE],
        judge->wrong[CSP_VERDICT_EXACT] + judge->wrong[CSP_VERDICT_TIME],
        judge->wrong[CSP_VERDICT_ORDER],
        judge->misnamed_count,
        judge->undecided_count,
    };
    fprintf(table, "| %.*s | %s |", run, judge->name, colon ? colon + 2 : judge->name);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        char text[32];
        fprintf(table, " %s |", grouped(cells[i], text));
    }
    fprintf(table, " %.2f | %s |\n", 100 * share(judge->right, judge->whole),
            name_of_time(clock->time));
    return fclose(table) == 0;
}

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    if (severity == CSP_FAILURE)
        fprintf(stderr, "error: %s\n", message);
}

static int judge_recording(struct judge *judge, const char *path, struct csp_stitch_clock *clock)
{
    struct csp_diag diag = {.emit = print_message};
    struct csp_image_options images = {0};
    struct csp_recording *recording;
    struct csp_recording_samples_stats stats = {0};
    int error = csp_recording_open(&recording, path, &images, 1, &diag);
    if (error)
        return error;
    error = csp_recording_samples(
        recording,
        &(struct csp_recording_samples_options){
            .create = csp_engine_create_native, .sample = judge_sample, .user = judge},
        &stats, &diag);
    if (!error) {
        judge_totals(judge, &stats, csp_recording_auxtrace(recording));
        *clock = stats.stitch.clock;
    }
    csp_recording_close(recording);
    return error;
}

static bool parse_option(struct judge *judge, const char *name, const char *value)
{
    double *to = !strcmp(name, "--recall")        ? &judge->recall
                 : !strcmp(name, "--wrong-order") ? &judge->wrong_order
                 : !strcmp(name, "--misnamed")    ? &judge->misnamed
                 : !strcmp(name, "--undecided")   ? &judge->undecided
                                                  : NULL;
    if (!strcmp(name, "--table"))
        judge->table = value;
    return judge->table == value || (to && csp_parse_real(value, 0, 1, to));
}

int main(int argc, char **argv)
{
    struct judge judge = {.recall = 0.995};
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (!parse_option(&judge, argv[i], argv[i + 1]))
            break;
    if (argc - i < 4 || (argc - i) % 2) {
        fprintf(stderr, "usage: judge_stitching [--recall X] [--wrong-order X] [--misnamed X] "
                        "[--undecided X] [--table FILE] NAME TRUTH LEDGER RECORDING "
                        "[LEDGER RECORDING]...\n");
        return CSP_EXIT_USAGE;
    }
    judge.name = argv[i];
    const char *truth = argv[i + 1];
    struct csp_stitch_clock clock = {0};
    int error = 0;
    for (i += 2; i < argc && !error; i += 2) {
        judge.truth = (struct emulated_truth){0};
        truth_read(&judge.truth, truth);
        truth_read_ledger(&judge.truth, argv[i]);
        error = judge_recording(&judge, argv[i + 1], &clock);
        truth_free(&judge.truth);
    }
    if (error)
        return csp_error_exit(error);
    print_line(&judge, &clock);
    judge_shares(&judge);
    if (judge.table && !append_row(&judge, &clock))
        complain(&judge, "%s: cannot be written", judge.table);
    return judge.failed;
}
