#include "decode/trace_input.h"

#include "base/big_vec.h"

uint64_t csp_chunk_size(const struct csp_chunk *chunk)
{
    uint64_t size = 0;
    for (size_t i = 0; i < chunk->piece_count; i++)
        size += chunk->pieces[i].size;
    return size;
}

void csp_trace_input_free(struct csp_trace_input *input)
{
    for (size_t i = 0; i < input->streams.len; i++)
        csp_big_vec_free(&input->streams.data[i].chunks);
    csp_vec_free(&input->streams);
    csp_vec_free(&input->sources);
    csp_arena_free(&input->arena);
}
