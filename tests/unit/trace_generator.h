/* Random traces of random programs, with the elements that they mean.
 *
 * A second opinion: it executes the program itself and writes packets from the architecture's
 * descriptions, sharing nothing with the decoder but struct csp_element. Every kind of packet that
 * says something about A64 code occurs, in every form.
 */
#ifndef CSP_TESTS_TRACE_GENERATOR_H
#define CSP_TESTS_TRACE_GENERATOR_H

#include "base/buf.h"
#include "base/vec.h"
#include "decode/trace/engine.h"

enum { CSP_GENERATED_REGIONS = 2, CSP_GENERATED_WORDS = 400 };
/* Kinds of packets, beyond those that their first byte tells. */
enum {
    CSP_GENERATED_OVERFLOW = 256,
    CSP_GENERATED_DISCARD,
    CSP_GENERATED_FAILURE, /* of a transaction */
    CSP_GENERATED_KINDS
};

struct csp_generated_code {
    uint64_t base;
    uint32_t words[CSP_GENERATED_WORDS];
    /* What the words are. */
    uint8_t what[CSP_GENERATED_WORDS]; /* enum what in generator_state.h */
    uint32_t target[CSP_GENERATED_WORDS];
    struct csp_block_cache *blocks;
};

struct csp_generated_trace {
    struct csp_trace_config config;
    struct csp_generated_code code[CSP_GENERATED_REGIONS];
    struct csp_buf bytes;
    CSP_VEC(struct csp_element) truth;
    unsigned kinds[CSP_GENERATED_KINDS]; /* how often each header byte, and kind, was written */
};

struct csp_generated_trace *csp_generate_trace(uint64_t seed, unsigned steps);
void csp_generated_trace_free(struct csp_generated_trace *trace);
/* As struct csp_code_memory wants them; `user` is the trace. */
size_t csp_generated_fetch(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                           const uint8_t **bytes);
bool csp_generated_find(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                        struct csp_code_region *region);
/* The bytes in CoreSight frames, with padding and bytes of another source between them. */
void csp_generated_frames(const struct csp_generated_trace *trace, uint64_t seed,
                          struct csp_buf *out);

#endif
