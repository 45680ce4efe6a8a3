/* Parts of a decoded trace (decode/trace_decode.h), whose memory is used again. */
#ifndef CSP_DECODE_TRACE_PART_H
#define CSP_DECODE_TRACE_PART_H

#include "decode/trace_decode.h"

struct csp_part_pool;

struct csp_part {
    struct csp_trace_part base;
    struct csp_part_pool *pool;
    struct csp_part *next; /* in the pool */
    size_t list_count;
    unsigned holders; /* atomic */
    struct csp_trace_stats stats;
    bool last_of_stream;
    uint32_t stream;
    int error;
};

struct csp_part_pool *csp_part_pool_create(void);
/* Gives up one hold on the pool, and on `part` where there is one. */
void csp_part_pool_leave(struct csp_part_pool *pool, struct csp_part *part);
/* An empty part with at least so many lists. */
struct csp_part *csp_part_get(struct csp_part_pool *pool, size_t list_count);
/* How much it has become, for the room of those to come. */
void csp_part_note_size(const struct csp_part *part);

#endif
