/* Compressed records: one zstd stream cut into COMPRESSED records, whose contents are records that
 * may straddle those cuts. Expanded through a window, never as a whole. */
#ifndef CSP_PERFDATA_EXPAND_H
#define CSP_PERFDATA_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csp_expander;

struct csp_expander *csp_expander_create(void);
void csp_expander_destroy(struct csp_expander *expander);

/* Gives the next compressed bytes, which must live until they are used up. */
void csp_expander_feed(struct csp_expander *expander, const uint8_t *data, size_t size);
/* The bytes ready, *size of them; asks for more than it has until at least `want` (at most 65536)
 * are there or the input is used up. Null when the stream is damaged: then *reason says how. */
const uint8_t *csp_expander_peek(struct csp_expander *expander, size_t want, size_t *size,
                                 const char **reason);
/* Drops the first `size` of the bytes that peek returned. */
void csp_expander_consume(struct csp_expander *expander, size_t size);

#endif
