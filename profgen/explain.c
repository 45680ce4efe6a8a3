#include "profgen/explain.h"

#include "base/counted.h"

#include <inttypes.h>

int csp_explain_no_samples(const struct csp_profgen *gen, struct csp_diag *diag)
{
    static const char *const reasons[CSP_REJECT_COUNT] = {
        "have no branch history (record with a branch stack)",
        "belong to no trace window (`csprof decode --format none` tells what became of the trace)",
        "have no callchain (record with one, or ask for --mode flat)",
        "are outside the binary (is it the one that ran?)",
        "were taken in a prologue or epilogue",
    };
    const struct csp_sample_set_stats *stats = &gen->set.stats;
    if (!stats->samples)
        return csp_fail(diag, CSP_ERR_INPUT, "the input holds no samples");
    int worst = 0;
    for (int i = 1; i < CSP_REJECT_COUNT; i++)
        if (stats->rejected[i] > stats->rejected[worst])
            worst = i;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "the profile would be empty: none of %s can be used; %" PRIu64 " of them %s",
                    CSP_COUNTED(stats->samples, "sample"), stats->rejected[worst], reasons[worst]);
}

int csp_explain_bogus(const struct csp_profgen *gen, struct csp_diag *diag)
{
    static const char *const reasons[CSP_RULE_COUNT] = {
        "were taken in another function than their newest branch leads to",
        "have call stacks that contradict their branches",
        "ran over a taken branch",
        "branch where the binary does not",
        "return to what no call precedes",
        "begin or end outside of the binary",
        "were taken in a prologue or epilogue",
    };
    const struct csp_sample_check_stats *stats = &gen->stats.checks;
    int worst = -1;
    for (int i = 0; i < CSP_RULE_COUNT; i++)
        if ((gen->options.rules & 1U << i) &&
            (worst < 0 || stats->broken[i] > stats->broken[worst]))
            worst = i;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "the profile would be empty: %" PRIu64 " of %" PRIu64
                    " samples %s (--validate chooses what is rejected)",
                    stats->broken[worst], stats->checked, reasons[worst]);
}

int csp_explain_no_counts(const struct csp_profgen *gen, struct csp_diag *diag)
{
    return csp_fail(
        diag, CSP_ERR_INPUT,
        "the profile would be empty: no %s is in any of the %" PRIu64 " ranges that ran (is %s "
        "the binary that ran, and built with %s throughout?)",
        gen->program.uses_probes ? "probe" : "line", gen->stats.range_counters, gen->program.path,
        gen->program.uses_probes ? "-fpseudo-probe-for-profiling"
                                 : "-gmlt -fdebug-info-for-profiling");
}

int csp_explain_branches(const struct csp_profgen *gen, struct csp_diag *diag)
{
    const struct csp_sample_set_stats *stats = &gen->set.stats;
    if (gen->options.compat || stats->impossible_branches <= stats->branches / 100)
        return 0;
    static const char message[] =
        "%" PRIu64 " of %" PRIu64 " branches begin where %s has no branch instruction: is it the "
        "build that ran?";
    if (stats->impossible_branches > stats->branches / 5)
        return csp_fail(diag, CSP_ERR_INPUT, message, stats->impossible_branches, stats->branches,
                        gen->program.path);
    csp_warn(diag, message, stats->impossible_branches, stats->branches, gen->program.path);
    return 0;
}

void csp_explain_missing_callchains(const struct csp_profgen *gen, struct csp_diag *diag)
{
    const struct csp_sample_set_stats *stats = &gen->set.stats;
    uint64_t missing = stats->rejected[CSP_REJECT_NO_CALLCHAIN];
    if (gen->options.mode == CSP_PROFGEN_AUTO && missing > stats->samples / 100)
        csp_warn(diag,
                 "%" PRIu64 " of %" PRIu64 " samples have no callchain and are not in the profile, "
                 "which is by context because others have one: --mode flat counts all",
                 missing, stats->samples);
}
