/* Linked with -Wl,--wrap of what is built for AVX2, a program decodes as on a processor without it,
 * and tells in the end how often that made a difference. */
#include "decode/trace/native/express.h"
#include "decode/trace/native/segments.h"

#include <stdio.h>

csp_express_take_fn __wrap_csp_express_take_avx2;
csp_segments_take_fn __wrap_csp_segments_take_avx2;

static unsigned long calls;

const uint8_t *__wrap_csp_express_take_avx2(struct csp_express *express, struct csp_walker *walker,
                                            struct csp_packet_reader *reader, const uint8_t *at,
                                            const uint8_t *end)
{
    calls++;
    return csp_express_take_anywhere(express, walker, reader, at, end);
}

const uint8_t *__wrap_csp_segments_take_avx2(struct csp_segments *segments,
                                             struct csp_walker *walker,
                                             struct csp_packet_reader *reader, bool takes_stamps,
                                             const uint8_t *at, const uint8_t *end)
{
    calls++;
    return csp_segments_take_anywhere(segments, walker, reader, takes_stamps, at, end);
}

static __attribute__((destructor)) void tell(void)
{
    fprintf(stderr, "%lu calls without AVX2\n", calls);
}
