#ifndef CSP_TESTS_FUZZ_PERFDATA_H
#define CSP_TESTS_FUZZ_PERFDATA_H

#include <stddef.h>
#include <stdint.h>

/* The entry that libFuzzer calls. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
