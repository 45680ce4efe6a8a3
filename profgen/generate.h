/* From counters to a profile, by pseudo-probes or by lines. */
#ifndef CSP_PROFGEN_GENERATE_H
#define CSP_PROFGEN_GENERATE_H

#include "profgen/contexts.h"
#include "profgen/counters.h"
#include "profgen/data_access.h"
#include "profgen/program.h"

struct csp_generate_options {
    int compress_recursion; /* as in struct csp_unwind_options */
    int max_context_depth;
    bool infer_missing_frames; /* see profgen/missing_frames.h */
    uint32_t max_search_depth;
    unsigned threads;
    void (*beside)(void *user); /* what can be done meanwhile by one of them, or null: it may … */
    void *beside_user;          /* … read the program, and look at its debug information */
};

struct csp_generate_stats {
    uint64_t inferred_contexts; /* contexts of the counters that were completed by tail calls */
    uint64_t cut_contexts;      /* … cut at a call without a probe, in a function with probes */
};

/* Makes a context-sensitive profile. The counters are without counts then: trees that several
 * threads made become one, which takes as much memory. */
void csp_generate_contexts(struct csp_program *program, struct csp_counters *counters,
                           const struct csp_generate_options *options,
                           struct csp_context_tree *tree, struct csp_generate_stats *stats);
/* Makes a profile without contexts, of counters without contexts. The code of the functions that
 * ran is in it with a count of zero where it did not run; that of `all_functions`, on request. */
void csp_generate_flat(struct csp_program *program, const struct csp_counters *counters,
                       bool all_functions, struct csp_context_tree *tree);

/* The same two by lines; the contexts of the counters are of frames (profgen/lines.h). */
void csp_generate_line_contexts(struct csp_program *program, const struct csp_counters *counters,
                                bool compat, struct csp_context_tree *tree);
void csp_generate_line_flat(struct csp_program *program, const struct csp_counters *counters,
                            bool all_functions, struct csp_context_tree *tree);
/* Adds to such a profile the types that were used. */
void csp_generate_line_types(struct csp_program *program, const struct csp_data_accesses *accesses,
                             struct csp_context_tree *tree);

/* Adds the count of each range to every probe in it: counts[probe]. Probes that got any are
 * appended to `touched`, once. */
struct csp_touched_probes {
    CSP_VEC(uint32_t) probes;
    uint64_t *counts; /* one for each probe of the binary */
    uint8_t *seen;
    struct csp_numbers addresses; /* where spans began … */
    CSP_VEC(size_t) firsts;       /* … and csp_probes_from there */
};

struct csp_spans;
void csp_touched_init(struct csp_touched_probes *touched, const struct csp_program *program);
void csp_touch_probes(struct csp_touched_probes *touched, const struct csp_program *program,
                      const struct csp_spans *spans, bool zero_too);
/* Forgets the probes touched; counts are zero again. */
void csp_touched_clear(struct csp_touched_probes *touched);
void csp_touched_free(struct csp_touched_probes *touched);

#endif
