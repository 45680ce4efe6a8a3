/* Reading what is in a profile, for those that compare profiles. */
#ifndef CSP_PROFGEN_LLVM_PROFILE_WALK_H
#define CSP_PROFGEN_LLVM_PROFILE_WALK_H

#include "profgen/llvm/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function on the way to a context. A name that the profile has only as a hash is null. */
struct csp_profile_step {
    uint64_t guid; /* csp_name_guid of the name */
    const char *name;
    size_t name_length;
    uint32_t callsite, discriminator; /* in the function before it; 0 in the first */
};

struct csp_profile_place {
    uint32_t probe, discriminator; /* or a line from the function's start */
    uint64_t count; /* of a call: all calls, also those whose callee is nested there */
};

/* A function in one context: the last step of its path, outermost first. */
struct csp_profile_entry {
    const struct csp_profile_step *path;
    size_t path_len;
    uint64_t hash; /* control-flow checksum; 0: none */
    uint64_t head, total;
    const struct csp_profile_place *places;
    size_t place_len;
};

/* Nothing of the entry lives longer than the call. */
typedef void csp_profile_entry_fn(void *user, const struct csp_profile_entry *entry);
/* Visits every function in every context, nested or not, in no particular order. */
void csp_profile_walk(const struct csp_profile *profile, csp_profile_entry_fn *each, void *user);
bool csp_profile_is_by_lines(const struct csp_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
