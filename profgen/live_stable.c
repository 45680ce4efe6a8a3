#include "profgen/live_stable.h"

enum { FEWEST = 1000 }; /* samples that are worth comparing */

static double share(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : 0;
}

static double likeness(const struct csp_live_stable *stable, const struct csp_counter_table *now)
{
    uint64_t older = 0, all = 0;
    double alike = 0;
    for (size_t i = 0; i < now->counts.len; i++) {
        older += i < stable->before.len ? stable->before.data[i] : 0;
        all += now->counts.data[i];
    }
    for (size_t i = 0; i < stable->before.len; i++) {
        double a = share(stable->before.data[i], older);
        double b = share(now->counts.data[i] - stable->before.data[i], all - older);
        alike += a < b ? a : b;
    }
    return 100 * alike;
}

bool csp_live_stable_look(struct csp_live_stable *stable, const struct csp_counter_table *ranges,
                          uint64_t samples, double *alike)
{
    if (samples < FEWEST || samples < 2 * stable->samples)
        return false;
    bool compared = stable->samples != 0;
    if (compared)
        *alike = likeness(stable, ranges);
    stable->before.len = 0;
    for (size_t i = 0; i < ranges->counts.len; i++)
        csp_vec_push(&stable->before, ranges->counts.data[i]);
    stable->samples = samples;
    return compared;
}

void csp_live_stable_free(struct csp_live_stable *stable)
{
    csp_vec_free(&stable->before);
}
