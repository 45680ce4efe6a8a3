/* Which known sample one in a file might be, and whether it is, without decoding it.
 *
 * Of what the next host sends nearly all is known from those before. A sample's ends, callers and
 * number of branches nearly always tell which one it is; its branches, put as this file would put
 * them, must then be the file's bytes. To encode a known sample is faster than to decode an unknown
 * one: where a number ends is known before it is looked at. What was guessed wrong is decoded and
 * looked up as if nobody had guessed. Inside of profgen only.
 */
#ifndef CSP_PROFGEN_GUESSES_H
#define CSP_PROFGEN_GUESSES_H

#include "profgen/sample_set.h"

/* A sample of a file, of which all but the branches was decoded. */
struct csp_raw_sample {
    uint64_t start, end; /* as in struct csp_flat_sample … */
    uint32_t callers;    /* … number of the set's */
    uint32_t leaf, branch_len;
    uint32_t key;
    const uint8_t *numbers; /* of branches, as in the file: as many as there are */
    size_t size;            /* of them, bytes */
    uint64_t count;
};

struct csp_known_sample;

struct csp_guess {
    uint32_t key, number;
    struct csp_known_sample *known; /* null: free */
};

/* Zero-initialise. */
struct csp_guesses {
    struct csp_guess *slots; /* by key; a power of two of them */
    size_t slot_count, used;
    struct csp_arena known; /* what known samples are like */
    uint64_t put_aside;     /* as of the set when they became known */
    /* By number of a branch: its number's bytes in the file, how many << 24, or 0 when the file
     * does not have it. */
    CSP_VEC(uint32_t) encoded;
    struct csp_buf bytes;
};

/* Before a file's samples: `branches` are the set's numbers of the file's. Returns false when
 * nothing is to be guessed, as when the set is empty. */
bool csp_guesses_begin(struct csp_guesses *guesses, const struct csp_sample_set *set,
                       const uint32_t *branches, size_t count);
/* Behind them, with the same branches. */
void csp_guesses_end(struct csp_guesses *guesses, const uint32_t *branches, size_t count);
void csp_guesses_set_key(struct csp_raw_sample *raw);
/* In steps, as csp_intern_hashed: what is known of it is on its way from memory. */
void csp_guesses_fetch(const struct csp_guesses *guesses, const struct csp_raw_sample *raw);
void csp_guesses_fetch_known(const struct csp_guesses *guesses, const struct csp_sample_set *set,
                             const struct csp_raw_sample *raw);
/* The number of the sample in the set, or CSP_INTERN_NONE when the guess is wrong. */
uint32_t csp_guesses_number(struct csp_guesses *guesses, const struct csp_raw_sample *raw);
/* Which one it was. */
void csp_guesses_learn(struct csp_guesses *guesses, uint32_t key,
                       const struct csp_flat_sample *sample, uint32_t number);
/* Bytes that are taken for what is known. */
size_t csp_guesses_memory(const struct csp_guesses *guesses);
void csp_guesses_free(struct csp_guesses *guesses);

#endif
