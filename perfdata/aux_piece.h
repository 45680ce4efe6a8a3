#ifndef CSP_PERFDATA_AUX_PIECE_H
#define CSP_PERFDATA_AUX_PIECE_H

#include <stdint.h>

/* Bytes of trace that lie together in a file. */
struct csp_aux_piece {
    const uint8_t *data;
    uint64_t size;
    uint64_t aux_offset; /* in the ring's stream */
};

#endif
