/* Ini files as CoreSight snapshots use them: [sections] of key=value lines, ';' and '#' comments.
 */
#ifndef CSP_DECODE_INI_H
#define CSP_DECODE_INI_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"

#include <stdbool.h>

struct csp_ini_entry {
    const char *section; /* "" before the first */
    const char *key;
    const char *value;
};

struct csp_ini {
    CSP_VEC(struct csp_ini_entry) entries; /* in the order of the file */
    struct csp_arena arena;
};

/* Errors: CSP_ERR_INPUT (missing file, a line that is none of the above), CSP_ERR_IO. */
int csp_ini_read(struct csp_ini *ini, const char *path, struct csp_diag *diag);
/* The value of a key, compared without regard to case; null when there is none. */
const char *csp_ini_find(const struct csp_ini *ini, const char *section, const char *key);
void csp_ini_free(struct csp_ini *ini);

#endif
