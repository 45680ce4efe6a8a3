/* What the files that read aggregates share. Inside of profgen only. */
#ifndef CSP_PROFGEN_AGGREGATE_READER_H
#define CSP_PROFGEN_AGGREGATE_READER_H

#include "profgen/blocks.h"
#include "profgen/guesses.h"

enum { CSP_READER_QUEUE = 16 }; /* a power of two */

struct csp_decoded_sample {
    struct csp_buf sample; /* a struct csp_flat_sample; empty: none */
    uint32_t hash, key;
    uint64_t count;
};

/* A branch that stood behind another in a file. */
struct csp_follower {
    uint64_t bytes;  /* its entry there: of eight bytes the first … */
    uint32_t number; /* CSP_NO_PAIR: none is known */
    uint32_t beyond; /* … and how many bits the others have */
};

enum { CSP_FOLLOWERS = 4 };

struct csp_followers {
    struct csp_follower known[CSP_FOLLOWERS]; /* the last one is the newest */
};

/* What is read is added to a set that may have branches, callers and samples already: the numbers
 * in the file are looked up once, and then translated. Kept from one file to the next. */
struct csp_aggregate_reader {
    struct csp_block_reader blocks;
    struct csp_sample_set *set;
    CSP_VEC(uint32_t) branches, callers;     /* what the numbers in the file are in the set */
    CSP_VEC(struct csp_followers) followers; /* by number of a branch in the set */
    CSP_VEC(uint32_t) numbers;               /* scratch: the branches of a sample */
    uint64_t weight;
    struct csp_diag *diag;
    struct csp_guesses guesses;
    bool guessing;
    /* Samples that were read, and how many of them went in and came out; those of them that were
     * decoded, and how many went in. */
    struct csp_raw_sample raw[CSP_READER_QUEUE];
    size_t raw_in, raw_out;
    struct csp_decoded_sample decoded[CSP_READER_QUEUE];
    size_t decoded_in;
};

int csp_aggregate_malformed(const struct csp_aggregate_reader *reader, const char *expected);
/* Goes to an item, which must be there. */
int csp_aggregate_next_item(struct csp_aggregate_reader *reader, const char *expected);
/* How many there are. No more than the file may have: each takes a bit at least. */
int csp_aggregate_read_count(struct csp_aggregate_reader *reader, size_t *count,
                             const char *expected);
int csp_aggregate_read_branches(struct csp_aggregate_reader *reader);
/* All samples, to the end of the file. */
int csp_aggregate_read_samples(struct csp_aggregate_reader *reader);
void csp_aggregate_reader_free(struct csp_aggregate_reader *reader);

#endif
