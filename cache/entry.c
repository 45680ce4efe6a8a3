#include "cache/entry.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    ALIGNMENT = 16,
    HASHED = 32,            /* bytes of the header that the hash covers */
    COMPRESSED_FROM = 4096, /* less takes a block on disk anyway */
    LARGEST_RATIO = 1024,   /* so that a reader knows what to expect at most */
    WORTH = 8,              /* compressed when it saves an eighth */
    LEVEL = 1,              /* an entry is read more often than it is written, and soon old */
};

_Static_assert(sizeof(struct csp_entry_header) == CSP_ENTRY_HEADER, "as documented");
static const char magic[8] = {'C', 'S', 'P', 'S', 'T', 'O', 'R', 'E'};

void csp_entry_name(const void *key, size_t key_size, char name[CSP_ENTRY_NAME + 1])
{
    XXH128_hash_t hash = XXH3_128bits(key, key_size);
    snprintf(name, CSP_ENTRY_NAME + 1, "%02x/%014llx%016llx", (unsigned)(hash.high64 >> 56),
             (unsigned long long)(hash.high64 & UINT64_MAX >> 8), (unsigned long long)hash.low64);
}

static size_t data_offset(size_t key_size)
{
    return (CSP_ENTRY_HEADER + key_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t hash_of(const struct csp_entry_header *header, const void *rest, size_t size)
{
    return XXH3_64bits_withSeed(rest, size, XXH3_64bits(header, HASHED));
}

const char *csp_entry_check(const void *bytes, size_t size, struct csp_entry *entry)
{
    const struct csp_entry_header *header = bytes;
    *entry = (struct csp_entry){0};
    if (size < sizeof *header ? size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0
                              : memcmp(header->magic, magic, sizeof magic) != 0)
        return "is not csprof's";
    if (size < sizeof *header)
        return "has the wrong size";
    if (header->format != CSP_ENTRY_FORMAT)
        return NULL;
    size_t offset = data_offset(header->key_size);
    if (offset > size || header->stored != size - offset || header->size < header->stored ||
        header->size / LARGEST_RATIO > header->stored)
        return "has the wrong size";
    if (header->zero || hash_of(header, header + 1, size - sizeof *header) != header->hash)
        return "is damaged: its checksum is wrong";
    entry->header = header;
    entry->key = (const uint8_t *)(header + 1);
    entry->stored = (const uint8_t *)bytes + offset;
    return NULL;
}

const void *csp_entry_contents(const struct csp_entry *entry, void **allocated)
{
    *allocated = NULL;
    size_t size = entry->header->size;
    if (size == entry->header->stored)
        return entry->stored;
    *allocated = csp_malloc(size);
    if (ZSTD_decompress(*allocated, size, entry->stored, entry->header->stored) == size)
        return *allocated;
    free(*allocated);
    *allocated = NULL;
    return NULL;
}

/* The size of the contents when compressed into *allocated; 0: they are not. */
static size_t compress(const void *data, size_t size, void **allocated)
{
    if (size < COMPRESSED_FROM)
        return 0;
    size_t bound = ZSTD_compressBound(size);
    *allocated = csp_malloc(bound);
    size_t stored = ZSTD_compress(*allocated, bound, data, size, LEVEL);
    bool is_worth =
        !ZSTD_isError(stored) && stored <= size - size / WORTH && size / LARGEST_RATIO <= stored;
    return is_worth ? stored : 0;
}

static bool write_parts(FILE *stream, const struct csp_entry_header *header, const uint8_t *rest,
                        size_t rest_size)
{
    return fwrite(header, sizeof *header, 1, stream) == 1 &&
           fwrite(rest, 1, rest_size, stream) == rest_size;
}

bool csp_entry_write(FILE *stream, const void *key, size_t key_size, const void *data, size_t size,
                     uint64_t *written)
{
    void *compressed = NULL;
    size_t stored = compress(data, size, &compressed);
    struct csp_entry_header header = {.format = CSP_ENTRY_FORMAT,
                                      .key_size = (uint32_t)key_size,
                                      .size = size,
                                      .stored = stored ? stored : size};
    memcpy(header.magic, magic, sizeof magic);
    size_t offset = data_offset(key_size) - sizeof header, rest_size = offset + header.stored;
    uint8_t *rest = csp_calloc(1, rest_size + 1);
    memcpy(rest, key, key_size);
    if (header.stored)
        memcpy(rest + offset, stored ? compressed : data, header.stored);
    header.hash = hash_of(&header, rest, rest_size);
    bool is_written = write_parts(stream, &header, rest, rest_size);
    *written = sizeof header + rest_size;
    free(rest);
    free(compressed);
    return is_written;
}
