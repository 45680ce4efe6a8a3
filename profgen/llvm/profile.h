/* A profile in csprof's own shape, and its way through libLLVM's writers; or from its readers. */
#ifndef CSP_PROFGEN_LLVM_PROFILE_H
#define CSP_PROFGEN_LLVM_PROFILE_H

#include "base/buf.h"
#include "base/diag.h"
#include "profgen/preinline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CSP_PROFILE_TOP UINT32_MAX

/* Of a function in a context, as libLLVM numbers them. */
enum csp_profile_attribute {
    CSP_PROFILE_WAS_INLINED = 1, /* the binary has it inlined there */
    CSP_PROFILE_SHOULD_BE_INLINED = 2,
};

/* A function called (or inlined) in a context: the path of nodes above it. Parents come before
 * their children. */
struct csp_profile_node {
    const char *function;
    uint32_t parent;        /* index of the caller's node, or CSP_PROFILE_TOP */
    uint32_t callsite;      /* probe, or line from its start, of the caller that is the call */
    uint32_t discriminator; /* of the callsite */
    uint64_t hash;          /* control-flow checksum, 0 when unknown */
    uint64_t head, total;
    bool counted;       /* false: only a step on the path to others */
    uint8_t attributes; /* enum csp_profile_attribute, and others that were read */
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

struct csp_profile_type {
    uint32_t node, line, discriminator;
    const char *table;
    uint64_t count;
};

struct csp_profile_data {
    const struct csp_profile_node *nodes;
    const struct csp_profile_body *bodies;
    const struct csp_profile_target *targets;
    const struct csp_profile_type *types;
    size_t node_len, body_len, target_len, type_len;
    bool context_sensitive; /* nodes are contexts; else they are the inline tree of the binary */
    bool nested;            /* contexts are part of those that they were called in */
    bool by_lines;          /* `probe` is a line from the function's start */
    bool fs_discriminators;
    bool preinlined; /* what is to be inlined was decided */
    bool guids;      /* names of functions are GUIDs in decimal */
};

enum csp_profile_format { CSP_PROFILE_TEXT, CSP_PROFILE_EXTBINARY, CSP_PROFILE_BINARY };

struct csp_profile_options {
    enum csp_profile_format format;
    bool nested;        /* nest contexts */
    bool update_totals; /* make totals the sums of the counts */
    struct csp_preinline_options preinline;
    bool merge_cold, merge_cold_given; /* not given: only without the pre-inliner */
    bool trim_cold;
    uint32_t cold_context_depth; /* frames kept of a cold context */
    bool has_hot_count, has_cold_count;
    uint64_t hot_count, cold_count; /* thresholds that replace those of the profile's summary */
    bool mark_preinlined;           /* give all contexts the attribute ContextShouldBeInlined */
    bool compress, use_md5;         /* extbinary only */
    /* extbinary only: names of all functions of the binary, so that the compiler can tell a cold
     * function from a new one. */
    const char *const *symbols;
    size_t symbol_len;
    int density_cutoff; /* in millionths of all counts: see `density` */
};

struct csp_profile_result {
    uint64_t functions; /* top-level profiles written */
    uint64_t contexts;  /* contexts with counts before cold ones were merged */
    uint64_t merged_contexts, trimmed_functions;
    uint64_t other_unit_contexts; /* not inlined as their function is in another compile unit */
    uint64_t total_samples;
    /* Counts per place with a count, in the least dense of the densest functions that together have
     * `density_cutoff` of all counts. 0: the profile is empty. */
    double density;
};

struct csp_profile;

/* The same in libLLVM's shape; names are not copied. `update_totals` is not for contexts. */
struct csp_profile *csp_profile_build(const struct csp_profile_data *data, bool update_totals);
/* Reads a profile that was written before. Errors: CSP_ERR_INPUT. */
int csp_profile_read(struct csp_profile **profile, const char *path, struct csp_diag *diag);
bool csp_profile_has_contexts(const struct csp_profile *profile);
/* The names of the functions in it; a name may come more than once. */
typedef void csp_profile_name_fn(void *user, const char *name, size_t length);
void csp_profile_names(const struct csp_profile *profile, csp_profile_name_fn *each, void *user);
/* Appends the profile to `out`; it can be freed only, then. Of the result, what contexts became is
 * not changed. libLLVM keeps some of its settings in globals: one profile at a time. Errors:
 * CSP_ERR_FAILED; CSP_ERR_USAGE for a format that cannot hold it. */
int csp_profile_finish(struct csp_profile *profile, const struct csp_profile_options *options,
                       struct csp_buf *out, struct csp_profile_result *result,
                       struct csp_diag *diag);
void csp_profile_free(struct csp_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
