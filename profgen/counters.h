/* Counts of ranges and branches by calling context: what unwinding makes of samples, and all that
 * generating a profile needs. There may be many millions of them: contexts are paths in a tree, and
 * a counter is known by two small numbers. */
#ifndef CSP_PROFGEN_COUNTERS_H
#define CSP_PROFGEN_COUNTERS_H

#include "base/map.h"
#include "base/numbers.h"
#include "base/pairs.h"

#include <stddef.h>
#include <stdint.h>

/* A range [from, to], both addresses of instructions, or a branch. */
struct csp_counter {
    uint64_t from, to, count;
    uint32_t context; /* in csp_counters.contexts */
    uint32_t span;    /* in the table's spans */
};

struct csp_counter_table {
    struct csp_pairs spans;  /* distinct ranges or branches */
    struct csp_numbers keys; /* context << 32 | number in `spans` */
    CSP_VEC(uint64_t) counts;
};

/* What is to be added to a counter. */
struct csp_counted {
    uint64_t count;
    uint32_t context, span;
};

/* Arrays, root first: call addresses; or, in a profile by lines, numbers of frames
 * (profgen/lines.h) that end with the function itself. */
typedef CSP_VEC(uint64_t) csp_calls;

struct csp_counters {
    struct csp_pairs frames;        /* the tree: number of the caller's frame + 1 (0: none), call */
    CSP_VEC(uint32_t) contexts;     /* the innermost frame of each + 1; 0: the empty one */
    CSP_VEC(uint32_t) by_frame;     /* the same the other way: context + 1, 0: none ends there */
    struct csp_map called_contexts; /* by lines: those whose function was called, not inlined */
    struct csp_counter_table ranges, branches;
    csp_calls last;                /* the context that was looked up last … */
    CSP_VEC(uint32_t) last_frames; /* … and its frames + 1: the next one mostly begins alike */
};

/* The number of a context, new or old. */
uint32_t csp_counters_context(struct csp_counters *counters, const uint64_t *calls, size_t count);
/* The same in steps: the innermost frame of calls + 1 (0: there are none), that of a call in a
 * frame, and the context that ends there. */
uint32_t csp_counters_frame(struct csp_counters *counters, const uint64_t *calls, size_t count);
uint32_t csp_counters_frame_in(struct csp_counters *counters, uint32_t caller, uint64_t call);
uint32_t csp_counters_context_at(struct csp_counters *counters, uint32_t frame);
/* The calls of a context: they replace what is in `calls`. */
void csp_counters_calls(const struct csp_counters *counters, uint32_t context, csp_calls *calls);
void csp_counters_add(struct csp_counter_table *table, uint32_t context, uint64_t from, uint64_t to,
                      uint64_t count);
/* The same in two steps, for ranges or branches that are counted in many contexts. */
uint32_t csp_counters_span(struct csp_counter_table *table, uint64_t from, uint64_t to);
void csp_counters_add_span(struct csp_counter_table *table, uint32_t context, uint32_t span,
                           uint64_t count);
/* Adds to many counters, each once. */
void csp_counters_add_many(struct csp_counter_table *table, const struct csp_counted *counted,
                           size_t count);
/* The numbers that the contexts of other counters of the same program, and the spans of another
 * table, have in these, new or old; the caller frees the array. */
uint32_t *csp_counters_merge_contexts(struct csp_counters *counters,
                                      const struct csp_counters *other);
uint32_t *csp_counters_merge_spans(struct csp_counter_table *table,
                                   const struct csp_counter_table *other);
/* All counters of a table, sorted by context, from, to; the caller frees the array. */
struct csp_counter *csp_counters_sorted(const struct csp_counter_table *table);
/* The contexts, those with the same callers side by side; the caller frees the array. */
uint32_t *csp_counters_by_callers(const struct csp_counters *counters);
/* Gives back the memory that adding takes: nothing can be added any more. */
void csp_counters_close(struct csp_counters *counters);
/* Gives back what the counts take; contexts and spans stay. */
void csp_counters_forget_counts(struct csp_counters *counters);
void csp_counters_free(struct csp_counters *counters);

static inline struct csp_counter csp_counters_at(const struct csp_counter_table *table, size_t i)
{
    uint64_t key = table->keys.list.data[i];
    const struct csp_pair *span = &table->spans.list.data[(uint32_t)key];
    return (struct csp_counter){span->first, span->second, table->counts.data[i],
                                (uint32_t)(key >> 32), (uint32_t)key};
}

#endif
