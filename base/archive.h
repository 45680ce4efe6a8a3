/* Archives: files one after the other in the ustar format (POSIX.1-1988), as one zstd stream: what
 * `tar --zstd` reads and writes. Names are relative and have at most 100 bytes; there are no
 * folders and no links. */
#ifndef CSP_BASE_ARCHIVE_H
#define CSP_BASE_ARCHIVE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CSP_ARCHIVE_NAME = 100 };

struct csp_archive_writer;

/* Errors of the stream are found by who closes it. */
struct csp_archive_writer *csp_archive_begin(FILE *stream);
void csp_archive_add(struct csp_archive_writer *writer, const char *name, const void *data,
                     size_t size);
void csp_archive_end(struct csp_archive_writer *writer);

/* Whether a file begins like one. */
bool csp_archive_is(const char *path);
/* Unpacks all files into a folder that is there; `each` is told the name of each. Errors:
 * CSP_ERR_INPUT: it is no archive, damaged, or has a name that leads out of the folder; CSP_ERR_IO.
 */
typedef void csp_archive_name_fn(void *user, const char *name);
int csp_archive_unpack(const char *path, const char *folder, csp_archive_name_fn *each, void *user,
                       struct csp_diag *diag);

#endif
