/* Sizes of the code of functions, by the functions they are inlined into, for the pre-inliner. */
#ifndef CSP_PROFGEN_INLINE_SIZES_H
#define CSP_PROFGEN_INLINE_SIZES_H

#include "profgen/counters.h"
#include "profgen/llvm/profile.h"
#include "profgen/program.h"
#include "profgen/size_trie.h"

/* Measures the functions that the counters touch (with compat those that llvm-profgen 22 measures),
 * or those that a profile names. The caller destroys the result. */
struct csp_inline_sizes *csp_inline_sizes_of_counters(struct csp_program *program,
                                                      const struct csp_counters *counters,
                                                      bool compat);
struct csp_inline_sizes *csp_inline_sizes_of_profile(struct csp_program *program,
                                                     const struct csp_profile *profile);

#endif
