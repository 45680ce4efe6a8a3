#include "perfdata/expand.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { WINDOW = 256 * 1024 };

struct csp_expander {
    ZSTD_DStream *stream;
    ZSTD_inBuffer input;
    size_t begin, end; /* ready bytes in the window */
    bool draining;     /* zstd may hold output that did not fit */
    uint8_t window[WINDOW];
};

struct csp_expander *csp_expander_create(void)
{
    struct csp_expander *expander = csp_malloc(sizeof *expander);
    expander->stream = ZSTD_createDStream();
    expander->input = (ZSTD_inBuffer){0};
    expander->begin = expander->end = 0;
    expander->draining = false;
    return expander;
}

void csp_expander_destroy(struct csp_expander *expander)
{
    if (!expander)
        return;
    ZSTD_freeDStream(expander->stream);
    free(expander);
}

void csp_expander_feed(struct csp_expander *expander, const uint8_t *data, size_t size)
{
    expander->input = (ZSTD_inBuffer){data, size, 0};
}

const uint8_t *csp_expander_peek(struct csp_expander *expander, size_t want, size_t *size,
                                 const char **reason)
{
    while (expander->end - expander->begin < want &&
           (expander->input.pos < expander->input.size || expander->draining)) {
        if (expander->begin) {
            memmove(expander->window, expander->window + expander->begin,
                    expander->end - expander->begin);
            expander->end -= expander->begin;
            expander->begin = 0;
        }
        ZSTD_outBuffer output = {expander->window, WINDOW, expander->end};
        size_t result = ZSTD_decompressStream(expander->stream, &output, &expander->input);
        if (ZSTD_isError(result)) {
            *reason = ZSTD_getErrorName(result);
            return NULL;
        }
        expander->draining = output.pos == WINDOW;
        expander->end = output.pos;
    }
    *size = expander->end - expander->begin;
    return expander->window + expander->begin;
}

void csp_expander_consume(struct csp_expander *expander, size_t size)
{
    expander->begin += size;
}
