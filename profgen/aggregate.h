/* Aggregates: what a recording told of one binary, in a form that can be merged.
 *
 * An aggregate holds the distinct samples of its inputs, mapped to the binary, before any choice is
 * made that a profile depends on (contexts or none, probes or lines, which samples to reject,
 * depths): the profile of merged aggregates is the one of all their inputs. It also holds digests
 * of those inputs, so that none is counted twice. What is written does not depend on the order in
 * which anything came together.
 *
 * The file, all numbers little-endian:
 *
 *     0   "CSPRAGGR"
 *     8   u32 version (1), u32 compression (0: none, 1: zstd)
 *     16  u64 size of the contents, u64 their XXH3-64
 *     32  u64 size as stored
 *     40  u64 XXH3-64 of the 40 bytes before
 *     48  the contents as stored
 *
 * The contents, all numbers LEB128 unless said otherwise:
 *
 *     build-id: length, bytes; u64 XXH3-64 of the binary's code; name of the binary: length, bytes
 *     inputs: how many, then 16 bytes of XXH3-128 for each, sorted
 *     whether any sample has a callchain (0, 1)
 *     samples seen, used; how many reasons, samples rejected for each (enum csp_reject); truncated
 *         callchains; branches in the binary, impossible ones, external ones
 *     branches: how many, then for each `from` less the one before, `to` less `from` (signed)
 *     callers: how many, then for each how many calls, each call less the one before (signed)
 *     samples: how many, then for each the number of its callers less the one before's, leaf
 *         (enum csp_sample_leaf), start, end, how many branches, their numbers, count
 *
 * Addresses are the binary's own; 1 is everything outside (CSP_EXTERNAL). Branches, callers and
 * samples are sorted.
 */
#ifndef CSP_PROFGEN_AGGREGATE_H
#define CSP_PROFGEN_AGGREGATE_H

#include "base/build_id.h"
#include "base/file.h"
#include "profgen/sample_set.h"

/* Of an input's bytes. */
struct csp_digest {
    uint8_t bytes[16];
};

typedef CSP_VEC(struct csp_digest) csp_digests;

struct csp_aggregate {
    struct csp_build_id build_id;
    uint64_t code; /* csp_code_digest of the binary */
    char *name;    /* of the binary, for messages */
    csp_digests inputs;
    bool callchains; /* a sample has one */
    /* Of its branches only the addresses are known. */
    struct csp_sample_set set;
};

/* Errors: CSP_ERR_IO. */
int csp_digest_input(struct csp_digest *digest, const struct csp_input *input,
                     struct csp_diag *diag);
/* Adds digests to others. Those that are there already are an error unless they are `allowed`:
 * CSP_ERR_INPUT; `path` is who has them. */
int csp_digests_add(csp_digests *digests, const csp_digests *more, bool allowed, const char *path,
                    struct csp_diag *diag);

/* Reads a file. Errors: CSP_ERR_INPUT: it is none, damaged, or of another version; the message
 * names the offset. CSP_ERR_IO. Free after an error too. */
int csp_aggregate_read(struct csp_aggregate *aggregate, const char *path, struct csp_diag *diag);
/* The same of a file in memory. `path` is for messages. */
int csp_aggregate_parse(struct csp_aggregate *aggregate, const void *data, size_t size,
                        const char *path, struct csp_diag *diag);
/* Appends the file to `out`. Sorts the inputs. */
void csp_aggregate_write(struct csp_aggregate *aggregate, struct csp_buf *out);
/* Adds another aggregate of the same binary; the first one takes an empty one over. Errors:
 * CSP_ERR_INPUT: of another binary, or an input is in both (unless duplicates are allowed). `path`
 * is the other's. */
int csp_aggregate_merge(struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                        bool duplicates, const char *path, struct csp_diag *diag);
void csp_aggregate_free(struct csp_aggregate *aggregate);

#endif
