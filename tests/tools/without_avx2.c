/* Linked with -Wl,--wrap of what is built for AVX2, a program decodes as on a processor without it,
 * and tells in the end how often it took something that way. */
#include "decode/trace/native/segments.h"

#include <stdio.h>

csp_segments_take_fn __wrap_csp_segments_take_avx2;

static unsigned long calls;

const uint8_t *__wrap_csp_segments_take_avx2(struct csp_segments *segments,
                                             struct csp_walker *walker,
                                             struct csp_packet_reader *reader, bool takes_stamps,
                                             const uint8_t *at, const uint8_t *end)
{
    const uint8_t *behind =
        csp_segments_take_anywhere(segments, walker, reader, takes_stamps, at, end);
    calls += behind != at;
    return behind;
}

static __attribute__((destructor)) void tell(void)
{
    fprintf(stderr, "%lu calls without AVX2\n", calls);
}
