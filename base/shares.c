#include "base/shares.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { WORKERS_OF_A_STRETCH = 2 };

static uint64_t stretch_of(uint32_t first, uint32_t end)
{
    return (uint64_t)first << 32 | end;
}

static uint32_t left_in(uint64_t stretch)
{
    return (uint32_t)stretch - (uint32_t)(stretch >> 32);
}

/* Where the stretch of a worker begins, or the one behind that of the last worker. */
static uint32_t begin_of(uint32_t items, unsigned workers, unsigned worker)
{
    unsigned before = worker < workers ? worker : workers;
    return (uint32_t)((uint64_t)items * before / workers);
}

void csp_shares_begin(struct csp_shares *shares, uint32_t items, unsigned workers)
{
    shares->count = (workers + WORKERS_OF_A_STRETCH - 1) / WORKERS_OF_A_STRETCH;
    shares->stretches = csp_malloc(shares->count * sizeof *shares->stretches);
    for (unsigned i = 0; i < shares->count; i++)
        shares->stretches[i] = stretch_of(begin_of(items, workers, WORKERS_OF_A_STRETCH * i),
                                          begin_of(items, workers, WORKERS_OF_A_STRETCH * (i + 1)));
}

static bool take(uint64_t *stretch, bool from_end, uint32_t *item)
{
    uint64_t now = __atomic_load_n(stretch, __ATOMIC_RELAXED), then;
    do {
        if (!left_in(now))
            return false;
        *item = from_end ? (uint32_t)now - 1 : (uint32_t)(now >> 32);
        then = from_end ? now - 1 : now + stretch_of(1, 0);
    } while (!__atomic_compare_exchange_n(stretch, &now, then, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

/* The stretch that has most; null when none has any. */
static uint64_t *longest(struct csp_shares *shares)
{
    uint64_t *best = NULL;
    uint32_t most = 0;
    for (unsigned i = 0; i < shares->count; i++) {
        uint32_t left = left_in(__atomic_load_n(&shares->stretches[i], __ATOMIC_RELAXED));
        if (left > most) {
            most = left;
            best = &shares->stretches[i];
        }
    }
    return best;
}

bool csp_shares_next(struct csp_shares *shares, unsigned worker, uint32_t *item)
{
    uint64_t *stretch = &shares->stretches[worker / WORKERS_OF_A_STRETCH];
    if (take(stretch, worker % WORKERS_OF_A_STRETCH, item))
        return true;
    while ((stretch = longest(shares)))
        if (take(stretch, true, item))
            return true;
    return false;
}

void csp_shares_free(struct csp_shares *shares)
{
    free(shares->stretches);
}
