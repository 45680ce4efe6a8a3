#include "cache/store.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/parse.h"
#include "cache/care.h"
#include "cache/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Looking through all of a store takes longer than putting one entry: one process in so many that
 * put something does it, and every one that put a good part of the limit. */
enum { LOOKS = 16, GOOD_PART = 64 };

struct csp_store {
    char *folder;
    struct csp_diag *diag;
    uint64_t limit;
    uint64_t written;                   /* bytes; changed atomically, as are … */
    bool told_unwritable, told_damaged; /* … these */
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

uint64_t csp_store_limit(struct csp_diag *diag)
{
    static const uint64_t usual = UINT64_C(5) << 30;
    const char *text = getenv("CSPROF_CACHE_SIZE");
    uint64_t limit;
    if (!text || !*text)
        return usual;
    if (csp_parse_count(text, &limit))
        return limit;
    csp_warn(diag,
             "CSPROF_CACHE_SIZE is '%s', which is no size like 500M or 2Gi: it is taken for "
             "5Gi",
             text);
    return usual;
}

struct csp_store *csp_store_open(const char *folder, struct csp_diag *diag)
{
    if (!folder)
        return NULL;
    struct csp_store *store = csp_calloc(1, sizeof *store);
    store->folder = csp_strdup(folder);
    store->diag = diag;
    store->limit = csp_store_limit(diag);
    return store;
}

struct csp_store *csp_store_open_usual(struct csp_diag *diag)
{
    const char *own = getenv("CSPROF_CACHE");
    char *folder = csp_store_folder();
    struct csp_store *store = csp_store_open(folder, diag);
    if (!folder && !(own && !strcmp(own, "off")))
        csp_warn(diag, "there is no folder for the cache, because neither CSPROF_CACHE, "
                       "XDG_CACHE_HOME nor HOME is set: going on without it (--no-cache)");
    free(folder);
    return store;
}

static bool may_be_full(const struct csp_store *store)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return store->written > store->limit / GOOD_PART ||
           (store->written && now.tv_nsec / 1000 % LOOKS == 0);
}

void csp_store_close(struct csp_store *store)
{
    if (!store)
        return;
    if (may_be_full(store))
        csp_cache_prune(store->folder, store->limit, NULL);
    free(store->folder);
    free(store);
}

static char *path_of(const struct csp_store *store, const char *kind, const void *key,
                     size_t key_size)
{
    char name[CSP_ENTRY_NAME + 1];
    csp_entry_name(key, key_size, name);
    return csp_asprintf("%s/%s/%s", store->folder, kind, name);
}

static void remove_damaged(struct csp_store *store, const char *path, const char *what)
{
    unlink(path);
    if (!__atomic_exchange_n(&store->told_damaged, true, __ATOMIC_RELAXED))
        csp_warn(store->diag, "%s %s: it is removed from the cache and made again", path, what);
}

/* The entry of this key in what was read from its file; null, with *what where it is damaged. */
static const void *find_contents(const void *bytes, size_t size, const void *key, size_t key_size,
                                 struct csp_store_entry *found, const char **what)
{
    struct csp_entry entry;
    *what = csp_entry_check(bytes, size, &entry);
    if (*what || !entry.header)
        return NULL;
    if (entry.header->key_size != key_size || memcmp(entry.key, key, key_size) != 0) {
        *what = "belongs to something else";
        return NULL;
    }
    const void *data = csp_entry_contents(&entry, &found->contents);
    if (!data)
        *what = "is damaged: it cannot be decompressed";
    found->size = entry.header->size;
    return data;
}

bool csp_store_get(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   struct csp_store_entry *entry)
{
    *entry = (struct csp_store_entry){0};
    if (!store)
        return false;
    char *path = path_of(store, kind, key, key_size);
    const char *what = NULL;
    size_t size;
    entry->file = csp_cache_read(path, true, &size);
    if (entry->file)
        entry->data = find_contents(entry->file, size, key, key_size, entry, &what);
    if (what)
        remove_damaged(store, path, what);
    free(path);
    if (entry->data)
        return true;
    csp_store_release(entry);
    return false;
}

void csp_store_release(struct csp_store_entry *entry)
{
    free(entry->file);
    free(entry->contents);
    *entry = (struct csp_store_entry){0};
}

void csp_store_reject(struct csp_store *store, const char *kind, const void *key, size_t key_size)
{
    if (!store)
        return;
    char *path = path_of(store, kind, key, key_size);
    remove_damaged(store, path, "makes no sense");
    free(path);
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

void csp_store_put(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   const void *data, size_t size)
{
    if (!store || __atomic_load_n(&store->told_unwritable, __ATOMIC_RELAXED))
        return;
    char *path = path_of(store, kind, key, key_size);
    struct csp_output output = {0};
    uint64_t written = 0;
    errno = 0;
    bool has_folders = make_folders(path);
    bool is_written = has_folders && csp_output_open(&output, path, NULL) == 0 &&
                      csp_entry_write(output.stream, key, key_size, data, size, &written) &&
                      csp_output_commit(&output, NULL) == 0;
    int reason = errno;
    /* Who cleans the cache removed the entry while it was written: the next one may stay. */
    bool was_removed = has_folders && reason == ENOENT;
    csp_output_abort(&output);
    free(path);
    if (is_written)
        __atomic_fetch_add(&store->written, written, __ATOMIC_RELAXED);
    else if (!was_removed && !__atomic_exchange_n(&store->told_unwritable, true, __ATOMIC_RELAXED))
        csp_warn(store->diag, "the cache in %s cannot be written (%s): going on without it",
                 store->folder, reason ? strerror(reason) : "unknown reason");
}
