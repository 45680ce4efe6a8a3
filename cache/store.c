#include "cache/store.h"

#include "base/alloc.h"
#include "base/file.h"

#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, ALIGNMENT = 16 };

struct header {
    char magic[8];
    uint32_t format, key_size;
    uint64_t size, hash;
};
_Static_assert(sizeof(struct header) == 32, "as documented");
static const char magic[8] = {'C', 'S', 'P', 'S', 'T', 'O', 'R', 'E'};

struct csp_store {
    char *folder;
    struct csp_diag *diag;
    bool told_unwritable, told_damaged; /* changed atomically */
};

char *csp_store_folder(void)
{
    const char *own = getenv("CSPROF_CACHE"), *caches = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && !strcmp(own, "off"))
        return NULL;
    if (own && *own)
        return csp_strdup(own);
    if (caches && *caches == '/') /* a relative path is to be ignored */
        return csp_asprintf("%s/csprof", caches);
    return home && *home ? csp_asprintf("%s/.cache/csprof", home) : NULL;
}

struct csp_store *csp_store_open(const char *folder, struct csp_diag *diag)
{
    if (!folder)
        return NULL;
    struct csp_store *store = csp_calloc(1, sizeof *store);
    store->folder = csp_strdup(folder);
    store->diag = diag;
    return store;
}

void csp_store_close(struct csp_store *store)
{
    if (!store)
        return;
    free(store->folder);
    free(store);
}

static char *path_of(const struct csp_store *store, const char *kind, const void *key,
                     size_t key_size)
{
    XXH128_hash_t hash = XXH3_128bits(key, key_size);
    return csp_asprintf(
        "%s/%s/%02x/%014llx%016llx", store->folder, kind, (unsigned)(hash.high64 >> 56),
        (unsigned long long)(hash.high64 & UINT64_MAX >> 8), (unsigned long long)hash.low64);
}

static size_t data_offset(size_t key_size)
{
    return (sizeof(struct header) + key_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Null for an entry as it should be, else what it is. */
static const char *damage(const uint8_t *bytes, uint64_t size, const void *key, size_t key_size)
{
    struct header header;
    memcpy(&header, bytes, sizeof header);
    if (header.key_size != key_size || data_offset(key_size) > size ||
        header.size != size - data_offset(key_size))
        return "has the wrong size";
    if (XXH3_64bits(bytes + sizeof header, size - sizeof header) != header.hash)
        return "is damaged: its checksum is wrong";
    if (memcmp(bytes + sizeof header, key, key_size) != 0)
        return "belongs to something else";
    return NULL;
}

static void remove_damaged(struct csp_store *store, const char *path, const char *what)
{
    unlink(path);
    if (!__atomic_exchange_n(&store->told_damaged, true, __ATOMIC_RELAXED))
        csp_warn(store->diag, "%s %s: it is removed from the cache and made again", path, what);
}

static void *map(const char *path, size_t *size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *mapping = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapping == MAP_FAILED)
        return NULL;
    *size = (size_t)status.st_size;
    return mapping;
}

bool csp_store_get(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   struct csp_store_entry *entry)
{
    *entry = (struct csp_store_entry){0};
    if (!store)
        return false;
    char *path = path_of(store, kind, key, key_size);
    entry->mapping = map(path, &entry->mapping_size);
    struct header header = {0};
    const char *what = NULL;
    bool is_found = false;
    if (entry->mapping) {
        if (entry->mapping_size >= sizeof header)
            memcpy(&header, entry->mapping, sizeof header);
        if (memcmp(header.magic, magic, sizeof magic) != 0)
            what = "is not csprof's";
        else if (header.format == FORMAT) {
            what = damage(entry->mapping, entry->mapping_size, key, key_size);
            is_found = !what;
        }
    }
    if (what)
        remove_damaged(store, path, what);
    free(path);
    if (!is_found) {
        csp_store_release(entry);
        return false;
    }
    entry->data = (const uint8_t *)entry->mapping + data_offset(key_size);
    entry->size = entry->mapping_size - data_offset(key_size);
    return true;
}

void csp_store_release(struct csp_store_entry *entry)
{
    if (entry->mapping)
        munmap(entry->mapping, entry->mapping_size);
    *entry = (struct csp_store_entry){0};
}

/* Makes the folders above a path, for their owner alone. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!is_there)
            return false;
    }
    return true;
}

static bool write_entry(FILE *stream, const void *key, size_t key_size, const void *data,
                        size_t size)
{
    static const char zeroes[ALIGNMENT];
    size_t padding = data_offset(key_size) - sizeof(struct header) - key_size;
    struct header header = {.format = FORMAT, .key_size = (uint32_t)key_size, .size = size};
    memcpy(header.magic, magic, sizeof magic);
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return false;
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, key, key_size);
    XXH3_64bits_update(state, zeroes, padding);
    XXH3_64bits_update(state, data, size);
    header.hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return fwrite(&header, sizeof header, 1, stream) == 1 &&
           fwrite(key, 1, key_size, stream) == key_size &&
           fwrite(zeroes, 1, padding, stream) == padding && fwrite(data, 1, size, stream) == size;
}

void csp_store_put(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   const void *data, size_t size)
{
    if (!store || __atomic_load_n(&store->told_unwritable, __ATOMIC_RELAXED))
        return;
    char *path = path_of(store, kind, key, key_size);
    struct csp_output output = {0};
    errno = 0;
    bool is_written = make_folders(path) && csp_output_open(&output, path, NULL) == 0 &&
                      write_entry(output.stream, key, key_size, data, size) &&
                      csp_output_commit(&output, NULL) == 0;
    int reason = errno;
    csp_output_abort(&output);
    free(path);
    if (!is_written && !__atomic_exchange_n(&store->told_unwritable, true, __ATOMIC_RELAXED))
        csp_warn(store->diag, "the cache in %s cannot be written (%s): going on without it",
                 store->folder, reason ? strerror(reason) : "unknown reason");
}
