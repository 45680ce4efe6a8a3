/* Looking after the folder of a store: what is in it, whether it is whole, what is too old.
 *
 * Only files that are called like entries, or like what is left of one that was being written when
 * its process was killed, are looked at; everything else in the folder is somebody else's and left
 * alone. Processes that use the store meanwhile do not mind: to them an entry is missing, then.
 */
#ifndef CSP_CACHE_CARE_H
#define CSP_CACHE_CARE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Reads a whole file into memory that is aligned to 16 bytes and to be freed; null when there is
 * none. `used`: its time becomes now. */
void *csp_cache_read(const char *path, bool used, size_t *size);

struct csp_cache_file {
    const char *path, *kind, *name; /* name: XXYYYY…, 32 digits */
    uint64_t size;                  /* bytes */
    time_t used;                    /* when last; not later than now */
    bool unfinished;                /* left behind by a process that was killed, an hour ago */
};

/* Visits all files of the store in order of kind and name. A folder that is not there is empty. */
typedef void csp_cache_file_fn(void *user, const struct csp_cache_file *file);
void csp_cache_each(const char *folder, csp_cache_file_fn *each, void *user);

struct csp_cache_removed {
    uint64_t files, bytes, left_files, left_bytes;
};

/* Removes what is unfinished and then, until no more than `limit` bytes are left, what was not used
 * for longest. `removed` may be null. */
void csp_cache_prune(const char *folder, uint64_t limit, struct csp_cache_removed *removed);

enum csp_cache_state {
    CSP_CACHE_WHOLE,
    CSP_CACHE_DAMAGED, /* by its checksum, or it lies under another key's name */
    CSP_CACHE_OTHER,   /* another version's */
};

/* Reads a file of the store. For a damaged one *what are words that go after its path. */
enum csp_cache_state csp_cache_check(const struct csp_cache_file *file, const char **what);

#endif
