#include "decode/trace_input.h"

#include "base/big_vec.h"

void csp_trace_input_free(struct csp_trace_input *input)
{
    for (size_t i = 0; i < input->streams.len; i++)
        csp_big_vec_free(&input->streams.data[i].chunks);
    csp_vec_free(&input->streams);
    csp_vec_free(&input->sources);
    csp_arena_free(&input->arena);
}
