/* The express lane for any processor, and the choice between the two. */
#define CSP_EXPRESS_TAKE csp_express_take_anywhere
#include "decode/trace/native/express_take.h"

#include "base/alloc.h"

#include <stdlib.h>

struct csp_express *csp_express_create(void)
{
    struct csp_express *express = csp_calloc(1, sizeof *express);
    express->marks_end = STRETCH + SPARE;
    clear(express, sizeof express->taken);
    return express;
}

void csp_express_destroy(struct csp_express *express)
{
    free(express);
}

const uint8_t *csp_express_take(struct csp_express *express, struct csp_walker *walker,
                                struct csp_packet_reader *reader, const uint8_t *at,
                                const uint8_t *end)
{
    csp_express_take_fn *take = csp_express_take_anywhere;
    if (walker->has_return_stack || walker->isa != CSP_ISA_A64 ||
        (reader->history[0].isa | reader->history[1].isa | reader->history[2].isa))
        return at;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        take = csp_express_take_avx2;
#endif
    return take(express, walker, reader, at, end);
}
