/* A store of what was expensive to find out and can be found out again: files below one folder,
 * each under the hash of a key that says all that its contents depend on.
 *
 * A store never makes anything fail. Where the folder cannot be made or written (read-only, disk
 * full), that is told once and everything goes on without it. An entry that is damaged, or is
 * something else, is told once, removed and counts as missing. Entries are replaced as a whole: a
 * reader sees the old or the new one, whoever writes at the same time. Safe from any thread.
 *
 * The folder is $CSPROF_CACHE, or $XDG_CACHE_HOME/csprof, or $HOME/.cache/csprof (XDG Base
 * Directory Specification); CSPROF_CACHE=off turns the store off. An entry is the file
 * KIND/XX/YYYY…, XXYYYY… being the XXH3 hash (128 bits) of the key, and holds, in the byte order of
 * the machine: 0  "CSPSTORE" 8  u32 format version; another one counts as missing 12  u32 size of
 * the key 16  u64 size of the contents 24  u64 XXH3 hash of all bytes but the first 32 32  the key,
 * zeroes up to a multiple of 16, the contents
 */
#ifndef CSP_CACHE_STORE_H
#define CSP_CACHE_STORE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

struct csp_store;

/* What was stored, mapped: stays what it was if the entry is replaced or removed. */
struct csp_store_entry {
    const void *data; /* aligned to 16 bytes */
    size_t size;
    void *mapping;
    size_t mapping_size;
};

/* The folder that the environment names; null when the store is off, or when nothing names one. To
 * be freed. */
char *csp_store_folder(void);
/* Opens the store in a folder, which is made when the first entry is. A null folder gives a null
 * store, which every function accepts: nothing is found in it, and nothing kept. `diag` must live
 * as long as the store. */
struct csp_store *csp_store_open(const char *folder, struct csp_diag *diag);
void csp_store_close(struct csp_store *store);

/* Finds what was stored of a kind (a word that can be a folder's name) under a key. */
bool csp_store_get(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   struct csp_store_entry *entry);
void csp_store_release(struct csp_store_entry *entry);
/* Stores, or replaces what was stored. */
void csp_store_put(struct csp_store *store, const char *kind, const void *key, size_t key_size,
                   const void *data, size_t size);

#endif
