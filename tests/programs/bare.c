/* Threads that stay on a CPU each and call through pointers, to a depth that varies, without a C
 * library: a small program, of which a test can keep a copy.
 *
 *     bare ROUNDS [THREADS]
 */
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#define KEEP __attribute__((noinline))

enum { MOST_THREADS = 8, STACK = 16384 };

/* Entry; and a thread that runs function(argument) on its own stack and clears *running at its
 * end. */
__asm__(".globl _start\n"
        "_start:\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x0, sp\n"
        "    bl start\n"
        "spawn:\n" /* x4, the word to clear, stays where it is */
        "    mov x10, x2\n"
        "    mov x11, x3\n"
        "    mov x2, #0\n"
        "    mov x3, #0\n"
        "    mov x8, #220\n" /* clone(flags, stack, parent's word, TLS, child's word) */
        "    svc #0\n"
        "    cbz x0, 1f\n"
        "    ret\n"
        "1:  mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x0, x11\n"
        "    blr x10\n"
        "    mov x0, #0\n"
        "    mov x8, #93\n"
        "    svc #0\n");
long spawn(long flags, void *stack, void (*function)(unsigned *), unsigned *argument, int *running);
void start(char **stack);

static long call(long number, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}

static unsigned rounds;

static KEEP unsigned odd(unsigned x)
{
    return x * 7 + 1;
}

static KEEP unsigned even(unsigned x)
{
    return x >> 1;
}

static unsigned (*const step[2])(unsigned) = {even, odd};

static KEEP unsigned descend(unsigned depth, unsigned x)
{
    unsigned result = step[x & 1](x);
    return depth ? descend(depth - 1, result) + 1 : result;
}

static void work(unsigned *number)
{
    unsigned sum = *number;
    unsigned long cpu = 1ul << *number;
    call(SYS_sched_setaffinity, 0, sizeof cpu, (long)&cpu, 0);
    for (unsigned i = 0; i < rounds; i++) {
        sum += descend(i % 9, sum + i);
        if (i % 500 == 499)
            sum += call(SYS_getppid, 0, 0, 0, 0) == 0;
    }
    *number = sum;
}

static unsigned parse(const char *text)
{
    unsigned value = 0;
    while (*text >= '0' && *text <= '9')
        value = value * 10 + (unsigned)(*text++ - '0');
    return value;
}

static void print(unsigned value)
{
    char text[12], *at = text + sizeof text;
    *--at = '\n';
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    call(SYS_write, 1, (long)at, text + sizeof text - at, 0);
}

void start(char **stack)
{
    static char stacks[MOST_THREADS][STACK] __attribute__((aligned(16)));
    static unsigned numbers[MOST_THREADS];
    static int running[MOST_THREADS];
    static const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                              CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    long count = *(long *)stack;
    char **arguments = stack + 1;
    unsigned sum = 0, wanted = count > 2 ? parse(arguments[2]) : 1;
    rounds = count > 1 ? parse(arguments[1]) : 1000;
    if (wanted > MOST_THREADS)
        wanted = MOST_THREADS;
    for (unsigned i = 0; i < wanted; i++) {
        numbers[i] = i;
        running[i] = 1;
        spawn(flags, stacks[i] + STACK, work, &numbers[i], &running[i]);
    }
    for (unsigned i = 0; i < wanted; i++) {
        while (__atomic_load_n(&running[i], __ATOMIC_ACQUIRE))
            call(SYS_futex, (long)&running[i], FUTEX_WAIT, 1, 0);
        sum += numbers[i];
    }
    print(sum);
    call(SYS_exit_group, 0, 0, 0, 0);
}
