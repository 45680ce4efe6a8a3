/* Memory of a snapshot, as it was dumped: the code that its trace ran through. */
#ifndef CSP_DECODE_MEMORY_DUMPS_H
#define CSP_DECODE_MEMORY_DUMPS_H

#include "base/diag.h"
#include "base/vec.h"
#include "decode/trace_input.h"

/* Bytes of memory at an address. */
struct csp_memory_dump {
    uint64_t address;
    const uint8_t *bytes;
    size_t size;
    unsigned order; /* as met: where two overlap, the first counts */
    struct csp_block_cache *blocks;
};

/* Zero-initialise. */
struct csp_memory_dumps {
    CSP_VEC(struct csp_memory_dump) list; /* once sealed: by address, without overlap */
};

/* The bytes live as long as the dumps. */
void csp_memory_dumps_add(struct csp_memory_dumps *dumps, uint64_t address, const uint8_t *bytes,
                          size_t size);
/* Call after adding. Warns of dumps that overlap; `folder` is for messages. */
void csp_memory_dumps_seal(struct csp_memory_dumps *dumps, const char *folder,
                           struct csp_diag *diag);
/* As csp_trace_input.open_code, of an owner that is the dumps: all streams see the same memory. */
struct csp_code_view *csp_memory_dumps_open_code(void *dumps, uint32_t stream);
void csp_memory_dumps_free(struct csp_memory_dumps *dumps);

#endif
