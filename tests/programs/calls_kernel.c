/* A system call about every 200 instructions: calls_kernel ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static KEEP unsigned spin(unsigned x)
{
    for (unsigned i = 0; i < 37; i++) { /* five instructions each */
        __asm__ volatile("" : "+r"(x));
        x = x * 5 + 1;
    }
    return x;
}

static KEEP unsigned ask(unsigned x)
{
    return x + (syscall(SYS_getppid) < 0);
}

int main(int argc, char **argv)
{
    unsigned x = 1;
    for (int i = argc > 1 ? atoi(argv[1]) : 100; i > 0; i--)
        x = ask(spin(x));
    printf("%u\n", x);
    return 0;
}
