/* Counts of ranges and branches by calling context: what unwinding makes of samples, and all that
 * generating a profile needs. */
#ifndef CSP_PROFGEN_COUNTERS_H
#define CSP_PROFGEN_COUNTERS_H

#include "base/intern.h"
#include "base/map.h"

#include <stddef.h>
#include <stdint.h>

/* A range [from, to], both addresses of instructions, or a branch. */
struct csp_counter_key {
    uint64_t from, to;
    uint32_t context; /* in csp_counters.contexts */
    uint32_t zero;
};

struct csp_counter {
    uint64_t from, to, count;
    uint32_t context;
};

struct csp_counter_table {
    struct csp_intern keys;
    CSP_VEC(uint64_t) counts;
};

struct csp_counters {
    /* Arrays of uint64_t, root first: call addresses; or, in a profile by lines, numbers of frames
     * (profgen/lines.h) that end with the function itself. */
    struct csp_intern contexts;
    struct csp_map called_contexts; /* by lines: those whose function was called, not inlined */
    struct csp_counter_table ranges, branches;
};

uint32_t csp_counters_context(struct csp_counters *counters, const uint64_t *calls, size_t count);
void csp_counters_add(struct csp_counter_table *table, uint32_t context, uint64_t from, uint64_t to,
                      uint64_t count);
/* Adds all of other counters of the same program. */
void csp_counters_merge(struct csp_counters *counters, const struct csp_counters *other);
/* All counters of a table, sorted by context, from, to; the caller frees the array. */
struct csp_counter *csp_counters_sorted(const struct csp_counter_table *table);
void csp_counters_free(struct csp_counters *counters);

static inline size_t csp_context_len(const struct csp_counters *counters, uint32_t context)
{
    return counters->contexts.entries.data[context].size / sizeof(uint64_t);
}

static inline const uint64_t *csp_context_calls(const struct csp_counters *counters,
                                                uint32_t context)
{
    return counters->contexts.entries.data[context].data;
}

#endif
