/* memlat: a loop of three instructions, one of which is a load that takes nearly all of the time.
 */
#include "workload.h"

#include <stdlib.h>

enum { LINE = 64, NEAR_LINES = 128 };
static const size_t far_lines = (size_t)192 << 20 >> 6;

/* The loop, twice: the second walks data that is in the first-level cache. Labels tell where each
 * instruction is. The flags that the branch looks at are not changed by the load. */
#if defined(__x86_64__)
#define COUNT_TEXT "sub $1, %rcx"
#define LOAD_TEXT "mov (%rax), %rax"
#define BRANCH_TEXT "jne"
#define LOOP(name)                                                                                 \
    "csp_" name "_count: sub $1, %[left]\n"                                                        \
    "csp_" name "_load: mov (%[at]), %[at]\n"                                                      \
    "csp_" name "_branch: jne csp_" name "_count\n"                                                \
    "csp_" name "_end: nop\n"
#elif defined(__aarch64__)
#define COUNT_TEXT "subs x1, x1, #1"
#define LOAD_TEXT "ldr x0, [x0]"
#define BRANCH_TEXT "b.ne"
#define LOOP(name)                                                                                 \
    "csp_" name "_count: subs %[left], %[left], #1\n"                                              \
    "csp_" name "_load: ldr %[at], [%[at]]\n"                                                      \
    "csp_" name "_branch: b.ne csp_" name "_count\n"                                               \
    "csp_" name "_end: nop\n"
#else
#error "no loop for this machine"
#endif

extern const char csp_far_count[], csp_far_load[], csp_far_branch[], csp_far_end[];

static __attribute__((noinline)) void *walk_far(void *at, uint64_t left)
{
    __asm__ volatile(LOOP("far") : [at] "+r"(at), [left] "+r"(left) : : "cc", "memory");
    return at;
}

static __attribute__((noinline)) void *walk_near(void *at, uint64_t left)
{
    __asm__ volatile(LOOP("near") : [at] "+r"(at), [left] "+r"(left) : : "cc", "memory");
    return at;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Links the lines to one cycle; in random order by Sattolo's shuffle, which leaves no shorter one.
 */
static void link_lines(char *data, size_t lines, int random)
{
    uint32_t *order = malloc(lines * sizeof *order);
    uint64_t state = 88172645463325252;
    if (!order)
        abort();
    for (size_t i = 0; i < lines; i++)
        order[i] = (uint32_t)i;
    for (size_t i = lines - 1; random && i > 0; i--) {
        size_t other = next_random(&state) % i;
        uint32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(data + (size_t)order[i] * LINE) = data + (size_t)order[(i + 1) % lines] * LINE;
    free(order);
}

static void place(FILE *out, const char *start, const char *end, double share, const char *what)
{
    fprintf(out, "place %llx %llx %.6f %s\n", (unsigned long long)(uintptr_t)start,
            (unsigned long long)(uintptr_t)end, share, what);
}

void csp_workload_memlat(FILE *out, int random, double seconds)
{
    char *data = aligned_alloc(4096, far_lines * LINE);
    if (!data)
        abort();
    enum { NEAR_TURNS = 20000000, FAR_TURNS = 200000 };
    link_lines(data, NEAR_LINES, random);
    void *at = walk_near(data, NEAR_LINES);
    double began = csp_workload_now();
    at = walk_near(at, NEAR_TURNS);
    double near = (csp_workload_now() - began) / NEAR_TURNS;

    link_lines(data, far_lines, random);
    at = data;
    uint64_t turns = 0;
    began = csp_workload_now();
    double now = began;
    for (; now < began + seconds; now = csp_workload_now()) {
        at = walk_far(at, FAR_TURNS);
        turns += FAR_TURNS;
    }
    double far = (now - began) / (double)turns;
    if (far < near)
        far = near;
    fprintf(out,
            "about A loop of three instructions takes %.2f ns a turn when what it loads is in the "
            "cache, and %.2f ns %s: the difference is the load's, which waits.\n",
            near * 1e9, far * 1e9,
            random ? "when it is in memory, each time in another place"
                   : "when it is in memory, one line after the other");
    double each = near / 3 / far;
    place(out, csp_far_count, csp_far_load, each, COUNT_TEXT);
    place(out, csp_far_load, csp_far_branch, 1 - 2 * each, LOAD_TEXT "   (the load)");
    place(out, csp_far_branch, csp_far_end, each, BRANCH_TEXT);
    free(data);
}
