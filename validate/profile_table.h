/* A profile as plain tables: what was counted, by function, by block and by context. */
#ifndef CSP_VALIDATE_PROFILE_TABLE_H
#define CSP_VALIDATE_PROFILE_TABLE_H

#include "base/buf.h"
#include "base/diag.h"
#include "base/intern.h"
#include "profgen/llvm/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct csp_profile_function {
    uint64_t guid;
    uint64_t hash;    /* control-flow checksum; 0: the profile has none */
    uint64_t count;   /* of all its blocks, in all contexts */
    const char *name; /* null when the profile has only the GUID */
};

/* A block of a function: a probe, or a line from its start. */
struct csp_block_key {
    uint64_t guid;
    uint32_t probe, discriminator;
};

/* A context is an array of these, outermost first; the last is the function itself. */
struct csp_context_step {
    uint64_t guid;
    uint32_t callsite, discriminator; /* in the function before it; 0 in the first */
};

struct csp_profile_table {
    struct csp_intern guids; /* numbers `functions` */
    CSP_VEC(struct csp_profile_function) functions;
    struct csp_intern blocks; /* struct csp_block_key; numbers `block_counts` */
    CSP_VEC(uint64_t) block_counts;
    struct csp_intern contexts; /* struct csp_context_step[]; numbers `context_counts` */
    CSP_VEC(uint64_t) context_counts;
    uint64_t total; /* of all counts */
    bool by_lines;
    struct csp_arena names;
};

/* Adds everything in a profile. */
void csp_profile_table_add(struct csp_profile_table *table, const struct csp_profile *profile);
/* A table of the profile in a file, of any format that libLLVM reads. Errors: CSP_ERR_INPUT. */
int csp_profile_table_read(struct csp_profile_table *table, const char *path,
                           struct csp_diag *diag);
/* Keeps of each context the function and `callers` frames above it. */
void csp_profile_table_cut_contexts(struct csp_profile_table *table, size_t callers);
void csp_profile_table_free(struct csp_profile_table *table);

/* The number of a function, or CSP_INTERN_NONE. */
uint32_t csp_profile_table_function(const struct csp_profile_table *table, uint64_t guid);
/* Appends its name, which may be known to one of two tables only; else the GUID in decimal. */
void csp_profile_table_name(const struct csp_profile_table *table,
                            const struct csp_profile_table *other, uint64_t guid,
                            struct csp_buf *out);

#endif
