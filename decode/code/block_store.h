/* Block tables kept from one run to the next, in the store of cache/store.h.
 *
 * An entry of kind "blocks" is found by the build-id and size of the code, the way of walking, and
 * the version of what makes blocks. It holds a hash of the code that its blocks cover, and the
 * blocks, links and all. Code that hashes to something else counts as
 * missing; so only code that once ran is read, not a whole file. What is read is checked before it
 * is believed: no link leads out of the table, no block out of the code, and each ends as
 * blocks do.
 */
#ifndef CSP_DECODE_BLOCK_STORE_H
#define CSP_DECODE_BLOCK_STORE_H

#include "base/build_id.h"
#include "cache/store.h"
#include "decode/code/block_table.h"

/* To be raised when the same code gives other blocks than before, or they are stored otherwise. */
enum { CSP_BLOCK_STORE_VERSION = 4 };

/* Tables of fewer blocks are made again faster than they are found. */
enum { CSP_BLOCK_STORE_LEAST = 256 };

/* Fills a table that nobody uses yet; leaves it as it is when nothing fit for it is stored. */
void csp_block_table_load(struct csp_block_table *table, struct csp_store *store,
                          const struct csp_build_id *build_id);
/* Stores a table that nobody uses any more, when it has grown by a sixteenth since its `used` was
 * `loaded`. */
void csp_block_table_save(const struct csp_block_table *table, struct csp_store *store,
                          const struct csp_build_id *build_id, uint32_t loaded);

#endif
