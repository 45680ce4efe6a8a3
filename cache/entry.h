/* The file of one entry of the store. Inside of cache only.
 *
 * In the byte order of the machine:
 *
 *     0   "CSPSTORE"
 *     8   u32 version of this format; another one counts as missing
 *     12  u32 size of the key
 *     16  u64 size of the contents
 *     24  u64 their size as stored: less when they are compressed (one zstd frame)
 *     32  u64 XXH3-64 of the 32 bytes before and of all that follows
 *     40  u64 0
 *     48  the key, zeroes up to a multiple of 16, the contents as stored
 */
#ifndef CSP_CACHE_ENTRY_H
#define CSP_CACHE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CSP_ENTRY_FORMAT = 2, CSP_ENTRY_HEADER = 48 };

struct csp_entry_header {
    char magic[8];
    uint32_t format, key_size;
    uint64_t size, stored, hash, zero;
};

/* An entry in memory. */
struct csp_entry {
    const struct csp_entry_header *header;
    const uint8_t *key, *stored;
};

/* Where the key's entry is below its kind's folder: 2 digits, a slash, 30 digits. */
enum { CSP_ENTRY_NAME = 33 };
void csp_entry_name(const void *key, size_t key_size, char name[CSP_ENTRY_NAME + 1]);

/* Null for an entry that is whole, or of another format (then entry->header is null); else what is
 * wrong with it, as words that go after its path. `bytes` is aligned to 16. */
const char *csp_entry_check(const void *bytes, size_t size, struct csp_entry *entry);
/* The contents of an entry that is whole, aligned to 16 bytes: within it, or decompressed into
 * *allocated, to be freed. Null when they do not decompress. */
const void *csp_entry_contents(const struct csp_entry *entry, void **allocated);
/* Writes an entry; false when that fails. Contents are compressed where that is worth it. */
bool csp_entry_write(FILE *stream, const void *key, size_t key_size, const void *data, size_t size,
                     uint64_t *written);

#endif
