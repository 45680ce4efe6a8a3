/* Distinct byte strings numbered from zero in the order they first appear.
 *
 * This is how csprof does work on distinct things once: intern a callchain, a window or a name, and
 * index plain arrays by the number. Bytes are copied into the table and stay where they are until
 * csp_intern_free. Not safe for concurrent use.
 */
#ifndef CSP_BASE_INTERN_H
#define CSP_BASE_INTERN_H

#include "base/arena.h"
#include "base/vec.h"

#include <stdint.h>

struct csp_intern_entry {
    const void *data; /* aligned to 8 bytes, followed by a NUL byte that `size` does not count */
    uint32_t size;
    uint32_t hash;
};

struct csp_intern {
    CSP_VEC(struct csp_intern_entry) entries;
    uint64_t *slots; /* hash << 32 | entry number + 1, 0 is free; a power of two of them */
    uint32_t slot_count;
    struct csp_arena arena;
};

#define CSP_INTERN_NONE UINT32_MAX

/* The number of these bytes, new or old. */
uint32_t csp_intern(struct csp_intern *table, const void *data, size_t size);
/* The same without a copy, for bytes that live as long as the table and are as `entries` has them.
 */
uint32_t csp_intern_kept(struct csp_intern *table, const void *data, size_t size);
uint32_t csp_intern_string(struct csp_intern *table, const char *text);
/* A number for these bytes, whether or not they have one: where nobody looks for equal ones, which
 * are then counted one by one, that is less work. Nothing is to be found in such a table. */
uint32_t csp_intern_another(struct csp_intern *table, const void *data, size_t size);
/* The same in steps, for many that are looked up one after the other in a table larger than the
 * processor's cache: between a step and the next of the same bytes go those of others. */
uint32_t csp_intern_hash(const void *data, size_t size);
void csp_intern_fetch_slot(const struct csp_intern *table, uint32_t hash);
void csp_intern_fetch_entry(const struct csp_intern *table, uint32_t hash);
void csp_intern_fetch_data(const struct csp_intern *table, uint32_t hash);
uint32_t csp_intern_hashed(struct csp_intern *table, const void *data, size_t size, uint32_t hash);
uint32_t csp_intern_kept_hashed(struct csp_intern *table, const void *data, size_t size,
                                uint32_t hash);
/* The number of these bytes, or CSP_INTERN_NONE. */
uint32_t csp_intern_find(const struct csp_intern *table, const void *data, size_t size);
static inline const char *csp_intern_text(const struct csp_intern *table, uint32_t id)
{
    return table->entries.data[id].data;
}
/* Forgets all, and keeps the memory for others. */
void csp_intern_clear(struct csp_intern *table);
void csp_intern_free(struct csp_intern *table);

#endif
