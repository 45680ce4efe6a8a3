/* Decodes a trace: engine and window builders behind one call, on as many threads as asked for,
 * with the same results in the same order whatever their number.
 *
 * The trace is cut into units (decode/trace_units.h). A unit becomes a part: the windows of its
 * sources, and a text. Parts are made in any thread and handed over in trace order.
 */
#ifndef CSP_DECODE_TRACE_DECODE_H
#define CSP_DECODE_TRACE_DECODE_H

#include "base/buf.h"
#include "base/progress.h"
#include "decode/trace_input.h"
#include "decode/window_builder.h"

/* The windows of one source that became complete with one chunk. */
struct csp_windows_done {
    const struct csp_chunk *chunk;
    uint32_t source;
    uint32_t list;         /* number in csp_trace_part.lists */
    uint32_t first, count; /* in lists[list].windows; never none */
    bool ends;             /* nothing of the chunk comes after them */
    bool whole;            /* … nor came before */
};

struct csp_trace_part {
    struct csp_windows *lists; /* one per source of the stream, with the runs and branches */
    CSP_VEC(struct csp_windows_done) done;
    struct csp_buf text; /* what `print` made of the elements */
};

/* Those windows as a list of their own; its runs and branches are those of the part. */
struct csp_windows csp_trace_part_windows(const struct csp_trace_part *part,
                                          const struct csp_windows_done *done);
/* Whoever wants a part for longer than the call it is given in keeps it, and releases it; from any
 * thread. */
void csp_trace_part_keep(struct csp_trace_part *part);
void csp_trace_part_release(struct csp_trace_part *part);

/* Who wants the results. Each function may be null. */
struct csp_trace_consumer {
    /* What to write of elements; called in any thread. */
    void (*print)(void *user, struct csp_buf *text, const struct csp_element *elements,
                  size_t count);
    /* One part after another. A negative return stops. */
    int (*part)(void *user, struct csp_trace_part *part);
    void *user;
};

struct csp_trace_stats {
    struct csp_window_stats windows;
    struct csp_engine_stats engine;
    uint64_t recalled; /* windows that were identical to others and not decoded again: how many
                          that is depends on the number of threads */
};

struct csp_trace_decode_options {
    csp_engine_create_fn *create;
    unsigned threads; /* engines other than the native one use one */
    /* Windows and runs are wanted, but not their branches: those may be only counted. */
    bool sums_up;
    /* May be null; else it gets each engine before it is fed. Streams are not cut, then. */
    void (*started)(void *user, struct csp_engine *engine);
    const struct csp_trace_consumer *consumer;
    struct csp_progress *progress; /* counts trace bytes; may be null */
};

/* Decodes all streams, and adds to `stats`. Can be done once: chunks are forgotten behind it.
 * Errors: those of making an engine, CSP_ERR_FAILED where two engines differ, and what the consumer
 * returned. */
int csp_trace_decode(const struct csp_trace_input *input,
                     const struct csp_trace_decode_options *options, struct csp_trace_stats *stats,
                     struct csp_diag *diag);

#endif
