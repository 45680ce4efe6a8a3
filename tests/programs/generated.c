/* generated N: code that no file has. Functions are written into anonymous memory, run, call back
 * into the program, are replaced by others at the same place, and vanish; a signal handler returns
 * through memory that nobody mapped. Between them the program's own code loops and branches. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEEP __attribute__((noinline))
enum { PAGE = 4096 };

typedef uint64_t function(uint64_t value, uint64_t (*callback)(uint64_t));

/* Counts down: three instructions a step, a branch that is taken or not. */
static const uint32_t counts_down[] = {
    0xaa0003e2, /*    mov x2, x0        */
    0xd1000442, /* 1: sub x2, x2, #1    */
    0x91000c00, /*    add x0, x0, #3    */
    0xb5ffffc2, /*    cbnz x2, 1b       */
    0xd65f03c0, /*    ret               */
};
/* Calls the program, from a frame of its own. */
static const uint32_t calls_back[] = {
    0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
    0x910003fd, /* mov x29, sp               */
    0xd63f0020, /* blr x1                    */
    0x91000400, /* add x0, x0, #1            */
    0xa8c17bfd, /* ldp x29, x30, [sp], #16   */
    0xd65f03c0, /* ret                       */
};
/* Leaves for the program for good: the callback returns to its caller. */
static const uint32_t jumps_on[] = {
    0xd1000800, /* sub x0, x0, #2 */
    0xd61f0020, /* br x1          */
};

static KEEP uint64_t collatz(uint64_t value)
{
    uint64_t steps = 0;
    for (; value > 1 && steps < 40; steps++)
        value = value % 2 ? 3 * value + 1 : value / 2;
    return steps + 1;
}

static KEEP uint64_t twice(uint64_t value)
{
    return collatz(value) + collatz(value + 1);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* Memory without a file, with these instructions, at `place` if that is known already. */
static function *generate(void *place, const uint32_t *words, size_t size)
{
    int fixed = place ? MAP_FIXED : 0;
    void *memory =
        mmap(place, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    memcpy(memory, words, size);
    mprotect(memory, PAGE, PROT_READ | PROT_EXEC);
    __builtin___clear_cache((char *)memory, (char *)memory + size);
    return (function *)memory;
}

static KEEP uint64_t run_all(uint64_t value)
{
    function *first = generate(NULL, counts_down, sizeof counts_down);
    function *second = generate(NULL, calls_back, sizeof calls_back);
    uint64_t sum = first(value % 50 + 1, collatz);
    sum += collatz(sum);
    sum += second(value, twice);
    sum += twice(sum % 1000);
    first = generate((void *)(uintptr_t)first, jumps_on, sizeof jumps_on);
    sum += first(value + 5, collatz);
    munmap((void *)(uintptr_t)first, PAGE);
    munmap((void *)(uintptr_t)second, PAGE);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 100, sum = 0;
    signal(SIGUSR1, on_signal);
    for (uint64_t i = 0; i < count; i++) {
        sum += run_all(i);
        if (i % 10 == 0)
            raise(SIGUSR1);
    }
    printf("%llu %d\n", (unsigned long long)sum, (int)signals);
    return 0;
}
