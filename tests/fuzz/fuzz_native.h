/* What begins an input of fuzz_native.c. */
#ifndef CSP_TESTS_FUZZ_NATIVE_H
#define CSP_TESTS_FUZZ_NATIVE_H

#include "decode/trace/engine.h"

struct fuzz_head {
    uint32_t seed; /* of the code */
    uint8_t flags; /* 1: in CoreSight frames */
    bool formatted;
    struct csp_trace_config config;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
