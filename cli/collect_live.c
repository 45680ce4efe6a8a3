/* csprof collect --live: the recording goes into a profile slice by slice. */
#include "cli/collect_options.h"

#include "base/counted.h"
#include "profgen/live.h"

#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>

enum { DECODE_PERCENT = 10 };

#define COUNT(value) (unsigned long long)(value)

static bool counts(void *slice, uint32_t cpu, uint64_t time)
{
    return csp_slice_counts(slice, cpu, time);
}

static void done(void *slice)
{
    csp_slice_free(slice);
    free(slice);
}

static bool ready(void *live)
{
    return csp_live_ready(live);
}

static void take(void *live, struct csp_slice *slice, bool cut)
{
    struct csp_slice *own = csp_malloc(sizeof *own);
    struct csp_live_slice recording = {.counts = counts, .done = done, .slice = own, .cut = cut};
    *own = *slice;
    memcpy(recording.path, own->path, sizeof recording.path);
    csp_live_take(live, &recording);
}

static bool enough(void *live)
{
    return csp_live_enough(live);
}

static void print_json(const struct csp_collect *collect, const struct csp_session_result *result,
                       const struct csp_live_stats *stats)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_collect_json(collect, result, &json);
    csp_json_number(&json, "slices", result->slices);
    csp_json_number(&json, "taken_samples", result->taken_samples);
    csp_json_number(&json, "dropped_slices", result->dropped_slices);
    csp_json_number(&json, "dropped_samples", result->dropped_samples);
    csp_json_real(&json, "total_cpu_seconds", csp_session_own_seconds());
    csp_json_real(&json, "decode_cpu_seconds", stats->seconds);
    csp_json_real(&json, "decode_cpu_seconds_steady", stats->steady_seconds);
    csp_json_number(&json, "counted_samples", stats->samples);
    csp_json_number(&json, "stitched", stats->stitched);
    csp_json_number(&json, "used", stats->used);
    csp_json_object(&json, "unstitched_reasons");
    for (int i = CSP_UNSTITCHED_NOT + 1; i < CSP_UNSTITCHED_COUNT; i++)
        csp_json_number(&json, csp_unstitched_name((enum csp_unstitched)i), stats->unstitched[i]);
    csp_json_end(&json);
    csp_json_object(&json, "rejected");
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        csp_json_number(&json, csp_reject_names[i], stats->rejected[i]);
    csp_json_end(&json);
    csp_json_number(&json, "counters", stats->counters);
    csp_json_number(&json, "contexts", stats->contexts);
    csp_json_real(&json, "halves_overlap_percent", stats->alike);
    csp_json_end(&json);
    csp_cli_print(&out);
}

static int report(const struct csp_collect *collect, const struct csp_session_result *result,
                  const struct csp_live_stats *stats)
{
    struct csp_diag *diag = &collect->cli->diag;
    double own = csp_session_own_seconds();
    csp_collect_warn_of_loss(diag, result);
    if (result->dropped_slices)
        csp_warn(diag,
                 "%llu of %s were dropped in %s, because decoding them would have "
                 "taken more than its share of the processor; lower --samples or raise --live-cpu",
                 COUNT(result->dropped_samples), CSP_COUNTED(result->totals.samples, "sample"),
                 CSP_COUNTED(result->dropped_slices, "slice"));
    if (stats->stable)
        csp_note(diag, "the profile is stable: both halves of the samples overlap by %.2f %%",
                 stats->alike);
    csp_note(diag,
             "%s: %s in %s from %llu of %s, %llu kB of trace "
             "decoded in memory in %.1f s; csprof itself used %.2f s of CPU time",
             collect->output, CSP_COUNTED(stats->profile.functions, "function"),
             CSP_COUNTED(stats->profile.contexts, "context"), COUNT(stats->used),
             CSP_COUNTED(stats->samples, "sample"), COUNT(result->totals.aux_bytes / 1000),
             result->seconds, own);
    if (collect->cli->json)
        print_json(collect, result, stats);
    return csp_collect_quality(diag, result);
}

static int check_strategy(struct csp_collect *collect)
{
    enum csp_strategy strategy = collect->session.plan->strategy;
    if (strategy != CSP_STRATEGY_CLOCK && strategy != CSP_STRATEGY_STROBE)
        return 0;
    return csp_cli_usage(collect->cli,
                         "--strategy %s records no callchains with histories, which --live needs: "
                         "record it, and use csprof gen",
                         csp_strategy_name(strategy));
}

static int record(struct csp_collect *collect)
{
    struct csp_live *live = NULL;
    struct csp_session_result result;
    struct csp_live_stats stats = {0};
    const struct csp_live_options options = {
        .binary_path = collect->binary,
        .output = collect->output,
        .images = {.symfs = collect->symfs, .program = collect->binary},
        .stable_percent = collect->stable_percent,
        .cpu_percent = collect->live_cpu_percent > 0 ? collect->live_cpu_percent : DECODE_PERCENT};
    int code = check_strategy(collect);
    if (code)
        return code;
    int error = csp_live_start(&live, &options, &collect->cli->diag);
    if (error)
        return csp_error_exit(error);
    const struct csp_live_taker taker = {.ready = ready,
                                         .take = take,
                                         .enough = enough,
                                         .user = live,
                                         .slice_size = collect->slice_size};
    collect->session.live = &taker;
    error = csp_collect_run_session(collect, &result);
    int profile_error = csp_live_finish(live, &stats);
    if (!error)
        error = profile_error;
    code = error ? (int)csp_error_exit(error) : report(collect, &result, &stats);
    csp_live_free(live);
    return code;
}

/* What one slice is decoded in the next one needs again: pages that are given back cost more than
 * all else that is done for a slice, because each has to be cleared when it is touched again. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* its maximum */
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 4 << 20);
#endif
}

/* Until the session listens there is no profile to write. */
static void too_early(int number)
{
    (void)number;
}

int csp_collect_live(struct csp_collect *collect)
{
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = too_early}, NULL);
    keep_memory();
    return csp_collect_with_plan(collect, record);
}
