/* The pre-inliner: decides for a whole program which contexts the compiler should inline, by how
 * hot their calls are and how large their code is in the binary, and merges the profiles of the
 * others into those of their functions. The compiler sees one module at a time and could not. */
#ifndef CSP_PROFGEN_LLVM_PREINLINE_H
#define CSP_PROFGEN_LLVM_PREINLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many bytes of code the binary has for a function inlined along a path of callers. */
struct csp_inline_sizes;

struct csp_sized_frame {
    const char *function;
    uint32_t callsite, discriminator; /* of the call in this function; of no meaning in the leaf */
};

struct csp_inline_sizes *csp_inline_sizes_create(void);
void csp_inline_sizes_destroy(struct csp_inline_sizes *sizes);
/* Adds bytes of the code of frames[0], inlined into frames[1], and so on outwards. Adding none
 * makes the size known. */
void csp_inline_sizes_add(struct csp_inline_sizes *sizes, const struct csp_sized_frame *frames,
                          size_t count, uint32_t bytes);

struct csp_units;

struct csp_preinline_options {
    bool enabled;
    bool across_units;             /* the next build sees the whole program (LTO) */
    const struct csp_units *units; /* of the binary: what the compiler cannot inline is merged; may
                                      be null */
    bool replay;                   /* decide as was decided for the profiled binary */
    bool by_context_cost; /* cost is bytes of code; else it is the number of places with counts */
    bool borrow_sizes;    /* of a function that the binary does not have, take that of any other
                             (llvm-profgen 22) instead of its number of places */
    int previous_multiplier;  /* how much larger what was inlined before may be */
    int hot_threshold;        /* cost up to which the hottest calls are inlined … */
    int cold_threshold;       /* … and cold ones */
    int growth_limit;         /* how many times its size a function may become … */
    int limit_min, limit_max; /* … but within these */
};

/* Whether the options need sizes. */
static inline bool csp_preinline_needs_sizes(const struct csp_preinline_options *options)
{
    return options->enabled && options->by_context_cost && !options->replay;
}

#ifdef __cplusplus
}
#endif

#endif
