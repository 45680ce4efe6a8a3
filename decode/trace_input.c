#include "decode/trace_input.h"

#include "base/big_vec.h"

#include <string.h>

void csp_chunk_take_pieces(struct csp_chunk *chunk, const struct csp_trace_piece *pieces,
                           size_t count, struct csp_arena *arena)
{
    chunk->size = 0;
    for (size_t i = 0; i < count; i++)
        chunk->size += pieces[i].size;
    chunk->several = count != 1;
    if (count == 1) {
        chunk->data = pieces->data;
        return;
    }
    struct csp_trace_pieces *kept =
        csp_arena_alloc(arena, sizeof *kept + count * sizeof *kept->list);
    kept->count = count;
    if (count)
        memcpy(kept->list, pieces, count * sizeof *kept->list);
    chunk->pieces = kept;
}

void csp_trace_input_free(struct csp_trace_input *input)
{
    for (size_t i = 0; i < input->streams.len; i++)
        csp_big_vec_free(&input->streams.data[i].chunks);
    csp_vec_free(&input->streams);
    csp_vec_free(&input->sources);
    csp_arena_free(&input->arena);
}
