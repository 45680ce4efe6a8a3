/* Which counts are hot and which are cold, by libLLVM's measure: by how large a part of all counts
 * those that are larger make up. */
#ifndef CSP_PROFGEN_LLVM_PROFILE_SUMMARY_H
#define CSP_PROFGEN_LLVM_PROFILE_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct csp_profile_summary {
    uint64_t total;
    uint64_t hot, cold; /* counts from which on, and up to which, a count is that */
    uint64_t hottest;   /* the count that a tenth of all counts reach */
};

/* Of the counts of all places of a profile without contexts. */
struct csp_profile_summary csp_profile_summarise(const uint64_t *counts, size_t count);

#ifdef __cplusplus
}
#endif

#endif
