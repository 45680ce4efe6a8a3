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
 *     8   u32 version (2), u32 0
 *     16  blocks (profgen/blocks.h) of these items, all numbers LEB128 unless said otherwise:
 *
 *     build-id: length, bytes; u64 XXH3-64 of the binary's code; name of the binary: length, bytes;
 *         whether any sample has a callchain (0, 1); samples seen, used; how many reasons, samples
 *         rejected for each (enum csp_reject); truncated callchains; branches in the binary,
 *         impossible ones, external ones
 *     inputs: how many; items of 16 bytes of XXH3-128 each, ascending
 *     branches: how many; items: `from` less the one before, `to` less `from` (signed)
 *     callers: how many; items: how many calls, each call less the one before (signed)
 *     samples, items: 1 + the number of its callers less the one before's, leaf (enum
 *         csp_sample_leaf), start, end, how many branches, their numbers, count
 *     0
 *
 * Addresses are the binary's own; 1 is everything outside (CSP_EXTERNAL). Branches, callers and
 * samples are distinct and sorted.
 */
#ifndef CSP_PROFGEN_AGGREGATE_H
#define CSP_PROFGEN_AGGREGATE_H

#include "base/build_id.h"
#include "base/file.h"
#include "profgen/sample_set.h"

struct csp_aggregate_reader;
struct csp_runs;

/* Of an input's bytes. */
struct csp_digest {
    uint8_t bytes[16];
};

typedef CSP_VEC(struct csp_digest) csp_digests; /* ascending */

struct csp_aggregate {
    struct csp_build_id build_id;
    uint64_t code; /* csp_code_digest of the binary */
    char *name;    /* of the binary, for messages */
    csp_digests inputs;
    bool callchains; /* a sample has one */
    /* Of its branches only the addresses are known. */
    struct csp_sample_set set;
    struct csp_aggregate_reader *reader; /* made by the first file, for the next one */
};

/* Errors: CSP_ERR_IO. */
int csp_digest_input(struct csp_digest *digest, const struct csp_input *input,
                     struct csp_diag *diag);
/* Adds digests to others. Those that are there already are an error unless they are `allowed`:
 * CSP_ERR_INPUT; `path` is who has them. */
int csp_digests_add(csp_digests *digests, const csp_digests *more, bool allowed, const char *path,
                    struct csp_diag *diag);

struct csp_aggregate_how {
    uint64_t weight; /* of each sample; 0 is 1 */
    bool duplicates; /* an input may be counted twice */
};

/* Whether a file begins like one. */
bool csp_aggregate_is(const char *path);
/* Reads a file and adds it to an aggregate of the same binary; one without a name is empty, and
 * takes over what the file is of. Errors: CSP_ERR_INPUT: it is none, damaged, of another version or
 * binary, or has an input that was added before; the message names the offset. CSP_ERR_IO. What was
 * added before the error stays; free after an error too. */
int csp_aggregate_read(struct csp_aggregate *aggregate, const char *path,
                       const struct csp_aggregate_how *how, struct csp_diag *diag);
/* The same of a file in memory. `path` is for messages. */
int csp_aggregate_parse(struct csp_aggregate *aggregate, const void *data, size_t size,
                        const char *path, const struct csp_aggregate_how *how,
                        struct csp_diag *diag);
/* Of a file, all but branches, callers and samples, of which nothing is looked at. Free after an
 * error too. */
int csp_aggregate_read_head(struct csp_aggregate *head, const char *path, struct csp_diag *diag);
/* Bytes that are kept beside the set, for its samples, from one file to the next. */
size_t csp_aggregate_beside(const struct csp_aggregate *aggregate);
/* Whether another one can be added: it is of the same binary, and none of its inputs is there. */
bool csp_aggregate_fits(const struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                        const struct csp_aggregate_how *how);
/* Adds another one in memory. */
int csp_aggregate_merge(struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                        const char *path, const struct csp_aggregate_how *how,
                        struct csp_diag *diag);
/* Writes the file to a stream, whose errors are found by who closes it, or, when that is null,
 * appends it to `out`; returns its size. */
uint64_t csp_aggregate_write(const struct csp_aggregate *aggregate, FILE *stream,
                             struct csp_buf *out);
struct csp_aggregate_written {
    uint64_t samples, bytes; /* distinct ones; of the file */
};
/* The same with the samples that were put aside (profgen/runs.h). Errors: those of csp_runs_put and
 * csp_runs_merge. */
int csp_aggregate_write_runs(struct csp_aggregate *aggregate, struct csp_runs *runs, FILE *stream,
                             struct csp_aggregate_written *written, struct csp_diag *diag);
static inline struct csp_aggregate csp_aggregate_empty(void)
{
    return (struct csp_aggregate){.set = {.contexts = true, .keep_all = true}};
}
void csp_aggregate_free(struct csp_aggregate *aggregate);

#endif
