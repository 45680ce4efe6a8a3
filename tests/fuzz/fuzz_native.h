/* What begins an input of fuzz_native.c. */
#ifndef CSP_TESTS_FUZZ_NATIVE_H
#define CSP_TESTS_FUZZ_NATIVE_H

#include "decode/trace/engine.h"

enum { FUZZ_FRAMES = 1, FUZZ_PLAIN_CODE = 2, FUZZ_REFERENCE = 4 };
enum { FUZZ_FIRST_ID = 0x10, FUZZ_SECOND_ID = 0x2a }; /* of the sources in frames */

struct fuzz_head {
    uint32_t seed; /* of the code */
    uint8_t flags; /* FUZZ_FRAMES: the trace is in CoreSight frames; FUZZ_PLAIN_CODE: the code has
                      nothing that OpenCSD 1.3.3 does not know; FUZZ_REFERENCE: that, and whatever
                      `config` says, the trace unit has nothing of it either */
    bool formatted;
    struct csp_trace_config config;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
