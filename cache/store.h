/* A store of what was expensive to find out and can be found out again: files below one folder,
 * each under the hash of a key that says all that its contents depend on.
 *
 * A store never makes anything fail. Where the folder cannot be made or written (read-only, disk
 * full), that is told once and everything goes on without it. An entry that is damaged, or is
 * something else, is told once, removed and counts as missing. Entries are replaced as a whole: a
 * reader sees the old or the new one, whoever writes at the same time, and reads it into memory of
 * its own, so that nothing that happens to the file later matters. There are no locks. Safe from
 * any thread.
 *
 * The folder is $CSPROF_CACHE, or $XDG_CACHE_HOME/csprof, or $HOME/.cache/csprof (XDG Base
 * Directory Specification); CSPROF_CACHE=off turns the store off. An entry is the file
 * KIND/XX/YYYY…, XXYYYY… being the XXH3 hash (128 bits) of the key; its format is in cache/entry.h.
 * Its time of modification is when it was last used. What the folder may hold at most is
 * $CSPROF_CACHE_SIZE (5Gi); cache/care.h removes what was not used for longest.
 */
#ifndef CSP_CACHE_STORE_H
#define CSP_CACHE_STORE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csp_store;

/* What was stored, in memory: it stays what it was, whatever becomes of the file. */
struct csp_store_entry {
    const void *data; /* aligned to 16 bytes */
    size_t size;
    void *file, *contents; /* what is to be freed */
};

/* The folder that the environment names; null when the store is off, or when nothing names one. To
 * be freed. */
char *csp_store_folder(void);
/* How many bytes it may hold, as the environment says. A value that is no size is told and not
 * used. */
uint64_t csp_store_limit(struct csp_diag *diag);
/* Opens the store in a folder, which is made when the first entry is. A null folder gives a null
 * store, which every function accepts: nothing is found in it, and nothing kept. `diag` must live
 * as long as the store. */
struct csp_store *csp_store_open(const char *folder, struct csp_diag *diag);
/* The store that the environment names. When nothing names one, that is told. */
struct csp_store *csp_store_open_usual(struct csp_diag *diag);
/* Removes old entries first, when so much was put that there may be too many. */
void csp_store_close(struct csp_store *store);

/* Finds what was stored of a kind (a word of lower-case letters) under a key. */
bool csp_store_get(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   struct csp_store_entry *entry);
void csp_store_release(struct csp_store_entry *entry);
/* Stores, or replaces what was stored. */
void csp_store_put(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   const void *data, size_t size);
/* For who finds that an entry, though whole, holds nothing that makes sense: as if it were damaged.
 */
void csp_store_reject(struct csp_store *store, const char *kind, const void *key, size_t key_size);

#endif
