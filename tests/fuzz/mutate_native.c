/* fuzz_native without a fuzzer: valid traces of the generator, mutated in the same ways every time.
 * mutate_native [COUNT [FIRST]], or mutate_native --corpus DIRECTORY to write the first inputs, or
 * mutate_native --inputs FILE... for what was found before (native_inputs). */
#include "../unit/trace_generator.h"
#include "fuzz_native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33);
}

static void add_input(struct csp_buf *input, uint64_t seed)
{
    struct csp_generated_trace *trace = csp_generate_trace(seed, 20 + seed % 60);
    struct fuzz_head head = {
        .seed = (uint32_t)seed,
        .flags = (uint8_t)((seed % 3 == 0 ? FUZZ_FRAMES : 0) | (seed % 2 ? FUZZ_REFERENCE : 0))};
    head.config = trace->config;
    csp_buf_add(input, &head, sizeof head);
    if (head.flags & FUZZ_FRAMES)
        csp_generated_frames(trace, seed, input);
    else
        csp_buf_add(input, trace->bytes.data, trace->bytes.len);
    csp_generated_trace_free(trace);
}

static void mutate(struct csp_buf *input, uint64_t *random)
{
    static const uint8_t telling[] = {0x00, 0x01, 0x04, 0x06, 0x2d, 0x2e, 0x30, 0x3f,
                                      0x80, 0x81, 0x90, 0xa5, 0xb4, 0xc0, 0xff, 0xf7};
    size_t head = sizeof(struct fuzz_head);
    for (uint32_t left = 1 + next(random) % 12; left && input->len > head + 1; left--) {
        size_t at = head + next(random) % (input->len - head);
        switch (next(random) % 5) {
        case 0:
            input->data[at] = (char)next(random);
            break;
        case 1:
            input->data[at] = (char)telling[next(random) % sizeof telling];
            break;
        case 2: /* a piece is lost */
        {
            size_t size = 1 + next(random) % (input->len - at);
            if (size > 32)
                size = 32;
            if (at + size > input->len)
                size = input->len - at;
            memmove(input->data + at, input->data + at + size, input->len - at - size);
            input->len -= size;
            break;
        }
        case 3: /* a piece comes again */
        {
            size_t from = head + next(random) % (input->len - head), size = input->len - from;
            if (size > 64)
                size = 64;
            char piece[64];
            memcpy(piece, input->data + from, size);
            csp_buf_add(input, piece, size);
            break;
        }
        default: /* a register is another */
            input->data[next(random) % head] ^= (char)(1 << next(random) % 8);
            break;
        }
    }
}

static int write_corpus(const char *directory)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        char path[4096];
        struct csp_buf input = {0};
        add_input(&input, seed);
        snprintf(path, sizeof path, "%s/%llu", directory, (unsigned long long)seed);
        FILE *file = fopen(path, "w");
        if (!file)
            return 1;
        fwrite(input.data, 1, input.len, file);
        fclose(file);
        csp_buf_free(&input);
    }
    return 0;
}

static int run_inputs(char **paths, int count)
{
    static uint8_t input[1 << 16];
    for (int i = 0; i < count; i++) {
        FILE *file = fopen(paths[i], "r");
        if (!file) {
            perror(paths[i]);
            return 1;
        }
        size_t size = fread(input, 1, sizeof input, file);
        fclose(file);
        printf("%s\n", paths[i]);
        fflush(stdout);
        LLVMFuzzerTestOneInput(input, size);
    }
    return count < 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--inputs"))
        return run_inputs(argv + 2, argc - 2);
    if (argc == 3 && !strcmp(argv[1], "--corpus"))
        return write_corpus(argv[2]);
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 2000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct csp_buf input = {0};
        uint64_t random = seed;
        add_input(&input, seed);
        if (seed % 4)
            mutate(&input, &random);
        LLVMFuzzerTestOneInput((const uint8_t *)input.data, input.len);
        csp_buf_free(&input);
    }
    return 0;
}
