/* The express lane for any processor, and the choice between the two. */
#define CSP_EXPRESS_TAKE csp_express_take_anywhere
#include "decode/trace/native/express_take.h"

const uint8_t *csp_express_take(struct csp_walker *walker, struct csp_packet_reader *reader,
                                const uint8_t *at, const uint8_t *end)
{
    if (walker->has_return_stack || walker->isa != CSP_ISA_A64 ||
        (reader->history[0].isa | reader->history[1].isa | reader->history[2].isa))
        return at;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return csp_express_take_avx2(walker, reader, at, end);
#endif
    return csp_express_take_anywhere(walker, reader, at, end);
}
