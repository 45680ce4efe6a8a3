/* Between the C++ files of this folder. */
#ifndef CSP_PROFGEN_LLVM_PREINLINE_RUN_H
#define CSP_PROFGEN_LLVM_PREINLINE_RUN_H

#include "profgen/llvm/function_ids.h"
#include "profgen/llvm/preinline.h"
#include "profgen/llvm/zero_fill.h"

#include "llvm/ProfileData/ProfileCommon.h"
#include "llvm/Transforms/IPO/SampleContextTracker.h"

struct csp_preinline_thresholds {
    uint64_t cold;  /* calls up to this count are cold */
    uint64_t upper; /* calls from this count on are as hot as can be */
};

/* Merges and marks the profiles in the tracker. Profiles of contexts that are not to be inlined are
 * no longer in it. `sizes` may be null when the options do not need them. Returns how many were not
 * to be inlined because they are in another compile unit than their inliner. */
uint64_t csp_preinline_run(llvm::SampleContextTracker &tracker, const csp::FunctionIds &ids,
                           const csp::ZeroFill &zeros, const csp_preinline_options &options,
                           const csp_preinline_thresholds &thresholds, csp_inline_sizes *sizes);

#endif
