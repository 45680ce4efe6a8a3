/* A file whose records are read in another order than its own: each piece of it is brought when the
 * first of its records is wanted, and given back when the last one was. */
#ifndef CSP_PERFDATA_PIECES_H
#define CSP_PERFDATA_PIECES_H

#include "base/file.h"

struct csp_pieces {
    const struct csp_file *file;
    struct csp_piece *list;
    size_t count;
    uint64_t read_up; /* the number + 1 of the piece that is to be given back; 0: none */
};

void csp_pieces_begin(struct csp_pieces *pieces, const struct csp_file *file);
void csp_pieces_free(struct csp_pieces *pieces);
/* A record begins at `offset` that will be read. */
void csp_pieces_add(struct csp_pieces *pieces, uint64_t offset);
/* When all were added: it is read now. */
void csp_pieces_read(struct csp_pieces *pieces, uint64_t offset);
/* All will be read once more. */
void csp_pieces_rewind(struct csp_pieces *pieces);

#endif
