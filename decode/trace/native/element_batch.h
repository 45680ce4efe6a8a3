/* Elements on their way to the sink, as many at a time as stay in the nearest cache with all that
 * is read to write them. */
#ifndef CSP_DECODE_TRACE_ELEMENT_BATCH_H
#define CSP_DECODE_TRACE_ELEMENT_BATCH_H

#include "decode/trace/element.h"

/* Elements lie in one line of the cache each. */
enum { CSP_ELEMENT_BATCH_ALIGNMENT = 64 };
/* Behind a batch there is room for what is written ahead and not delivered. */
enum { CSP_ELEMENT_BATCH = 256, CSP_ELEMENT_BATCH_SPARE = CSP_ELEMENT_BATCH * 3 / 4 };

struct csp_element_batch {
    csp_element_fn *sink;
    void *user;
    int status; /* negative once the sink has refused: nothing is delivered any more */
    size_t len;
    struct csp_element data[CSP_ELEMENT_BATCH + CSP_ELEMENT_BATCH_SPARE]
        __attribute__((aligned(CSP_ELEMENT_BATCH_ALIGNMENT)));
};

static inline void csp_element_batch_deliver(struct csp_element_batch *batch)
{
    if (batch->len && batch->status >= 0)
        batch->status = batch->sink(batch->user, batch->data, batch->len);
    batch->len = 0;
}

/* Makes room for `count` elements. */
static inline void csp_element_batch_reserve(struct csp_element_batch *batch, size_t count)
{
    if (batch->len + count > CSP_ELEMENT_BATCH)
        csp_element_batch_deliver(batch);
}

static inline struct csp_element *csp_element_batch_add(struct csp_element_batch *batch,
                                                        enum csp_element_type type, uint8_t source)
{
    csp_element_batch_reserve(batch, 1);
    struct csp_element *element = &batch->data[batch->len++];
    *element = (struct csp_element){.type = (uint8_t)type, .source = source};
    return element;
}

#endif
