/* What the files auxtrace*.c share. */
#ifndef CSP_PERFDATA_AUXTRACE_PRIVATE_H
#define CSP_PERFDATA_AUXTRACE_PRIVATE_H

#include "perfdata/auxtrace.h"

struct csp_aux_chunk {
    const uint8_t *data;
    uint64_t aux_offset, size;
    uint64_t ordinal;
    uint32_t idx, cpu, tid;
};

struct csp_aux_hw_id {
    struct csp_hw_id_event event;
    uint32_t cpu;
    uint64_t ordinal;
};

/* Queues, and the fragments with their pieces, from chunks, AUX records and losses. */
void csp_auxtrace_join(struct csp_auxtrace *aux);

#endif
