/* A program without a C library: every instruction of a recording is its own. */
#ifndef GOLDEN_START_H
#define GOLDEN_START_H

#ifdef __cplusplus
extern "C" {
#endif

/* The program itself; its result becomes the exit status (its low seven bits). */
unsigned run(void);

__attribute__((noreturn)) void _start(void)
{
    register unsigned long status __asm__("x0") = run() & 127;
    register unsigned long exit_group __asm__("x8") = 94;
    __asm__ volatile("svc #0" : : "r"(status), "r"(exit_group) : "memory");
    __builtin_unreachable();
}

#ifdef __cplusplus
}
#endif

/* A small generator of numbers, so that branches are taken in no simple pattern. */
static inline unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

#endif
