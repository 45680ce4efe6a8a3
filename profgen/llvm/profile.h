/* A profile in csprof's own shape, and its way through libLLVM: merging of cold contexts, nesting,
 * and the writers. */
#ifndef CSP_PROFGEN_LLVM_PROFILE_H
#define CSP_PROFGEN_LLVM_PROFILE_H

#include "base/buf.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CSP_PROFILE_TOP UINT32_MAX

/* A function called (or inlined) in a context: the path of nodes above it. Parents come before
 * their children. */
struct csp_profile_node {
    const char *function;
    uint32_t parent;   /* index of the caller's node, or CSP_PROFILE_TOP */
    uint32_t callsite; /* probe of the caller that is the call */
    uint64_t hash;     /* control-flow checksum, 0 when unknown */
    uint64_t head, total;
    bool counted; /* false: only a step on the path to others */
    bool inlined; /* the binary has this function inlined here */
};

struct csp_profile_body {
    uint32_t node, probe, discriminator;
    uint64_t count;
};

struct csp_profile_target {
    uint32_t node, probe, discriminator;
    const char *callee;
    uint64_t count;
};

struct csp_profile_data {
    const struct csp_profile_node *nodes;
    const struct csp_profile_body *bodies;
    const struct csp_profile_target *targets;
    size_t node_len, body_len, target_len;
};

enum csp_profile_format { CSP_PROFILE_TEXT, CSP_PROFILE_EXTBINARY, CSP_PROFILE_BINARY };

struct csp_profile_options {
    enum csp_profile_format format;
    bool context_sensitive; /* nodes are contexts; else they are the inline tree of the binary */
    bool nested;            /* write contexts as nested profiles */
    bool merge_cold, trim_cold;
    uint32_t cold_context_depth; /* frames kept of a cold context */
    bool has_hot_count, has_cold_count;
    uint64_t hot_count, cold_count; /* thresholds that replace those of the profile's summary */
    bool mark_preinlined;           /* give all contexts the attribute ContextShouldBeInlined */
    bool compress, use_md5;         /* extbinary only */
};

struct csp_profile_result {
    uint64_t functions; /* top-level profiles written */
    uint64_t contexts;  /* contexts with counts before cold ones were merged */
    uint64_t merged_contexts, trimmed_functions;
    uint64_t total_samples;
};

/* Appends the finished profile to `out`. libLLVM keeps some of its settings in globals: one call at
 * a time. Errors: CSP_ERR_FAILED; CSP_ERR_USAGE for a format that cannot hold the profile. */
int csp_profile_write(const struct csp_profile_data *data,
                      const struct csp_profile_options *options, struct csp_buf *out,
                      struct csp_profile_result *result, struct csp_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
