#include "perfdata/pieces.h"

#include "base/alloc.h"

#include <stdlib.h>

/* As many pieces as there are CPUs may be read at once. */
enum { PIECE_BYTES = 256 << 10 };

struct csp_piece {
    uint32_t records, read; /* that begin in it, and were read */
};

void csp_pieces_begin(struct csp_pieces *pieces, const struct csp_file *file)
{
    pieces->file = file;
    pieces->count = file->size / PIECE_BYTES + 1;
    pieces->list = csp_calloc(pieces->count, sizeof *pieces->list);
}

void csp_pieces_free(struct csp_pieces *pieces)
{
    free(pieces->list);
    *pieces = (struct csp_pieces){0};
}

void csp_pieces_add(struct csp_pieces *pieces, uint64_t offset)
{
    pieces->list[offset / PIECE_BYTES].records++;
}

static void give_back(struct csp_pieces *pieces)
{
    if (pieces->read_up)
        csp_file_done(pieces->file, (pieces->read_up - 1) * PIECE_BYTES, PIECE_BYTES);
    pieces->read_up = 0;
}

/* The last record of a piece is still looked at until the next one is wanted. */
void csp_pieces_read(struct csp_pieces *pieces, uint64_t offset)
{
    uint64_t number = offset / PIECE_BYTES;
    struct csp_piece *piece = &pieces->list[number];
    give_back(pieces);
    if (!piece->read++)
        csp_file_expect(pieces->file, number * PIECE_BYTES, PIECE_BYTES);
    if (piece->read == piece->records)
        pieces->read_up = number + 1;
}

void csp_pieces_rewind(struct csp_pieces *pieces)
{
    give_back(pieces);
    for (size_t i = 0; i < pieces->count; i++)
        pieces->list[i].read = 0;
}
