/* The contexts of a profile that was read. */
#ifndef CSP_PROFGEN_LLVM_PROFILE_CONTEXTS_H
#define CSP_PROFGEN_LLVM_PROFILE_CONTEXTS_H

#include "profgen/llvm/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A name that the profile has only as a GUID is that in decimal. */
struct csp_profile_name {
    const char *text;
    size_t length;
};

struct csp_profile_frame {
    struct csp_profile_name function;
    uint32_t callsite, discriminator; /* in the frame before it; 0 in the first */
};

struct csp_profile_context {
    const struct csp_profile_frame *path; /* outermost first; the last is the function itself */
    size_t path_len;
    uint64_t hash, head, total;
    uint8_t attributes; /* enum csp_profile_attribute, and others of libLLVM's */
};

struct csp_profile_context_reader {
    void *user;
    void (*context)(void *user, const struct csp_profile_context *context);
    /* Of the context told last: of a probe or line (a callee without text), of calls, of types. */
    void (*count)(void *user, uint32_t probe, uint32_t discriminator,
                  struct csp_profile_name callee, uint64_t count);
    void (*type)(void *user, uint32_t line, uint32_t discriminator, struct csp_profile_name table,
                 uint64_t count);
};

/* Tells all contexts of a context-sensitive profile. Nothing told lives longer than the call. */
void csp_profile_contexts(const struct csp_profile *profile,
                          const struct csp_profile_context_reader *reader);
/* The switches of the profile, for making it anew. */
struct csp_profile_data csp_profile_kind(const struct csp_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
