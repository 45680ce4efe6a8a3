/* Signals at any moment (a timer, raise, faults), handlers that return, jump out by siglongjmp or
 * run on a stack of their own, and indirect jumps everywhere: a switch through a table, computed
 * goto, calls through pointers. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static volatile sig_atomic_t ticks, usr1, faults;
static sigjmp_buf escape;
static volatile char *guarded;

static KEEP void count_tick(void)
{
    ticks++;
}

static void on_alarm(int number)
{
    (void)number;
    count_tick();
}

static void on_usr1(int number)
{
    (void)number;
    usr1++;
    if (usr1 % 16 == 0)
        raise(SIGUSR2); /* a handler within a handler */
}

static void on_usr2(int number)
{
    (void)number;
    count_tick();
}

/* Every other fault is repaired and the instruction runs again; the rest jump out. */
static void on_fault(int number)
{
    (void)number;
    if (++faults % 2)
        siglongjmp(escape, 1);
    mprotect((void *)(size_t)guarded, 4096, PROT_READ | PROT_WRITE);
}

static KEEP int interpret(const unsigned char *code, int value)
{
    static const void *const labels[] = {&&increment, &&twice, &&invert, &&call, &&stop};
    goto *labels[*code];
increment:
    value++;
    goto *labels[*++code];
twice:
    value *= 2;
    goto *labels[*++code];
invert:
    value = ~value;
    goto *labels[*++code];
call:
    count_tick();
    goto *labels[*++code];
stop:
    return value;
}

static KEEP int choose(unsigned selector, int value)
{
    switch (selector % 8) {
    case 0:
        return value + 3;
    case 1:
        return value * 5;
    case 2:
        return value - 7;
    case 3:
        return interpret((const unsigned char *)"\0\1\2\0\4", value);
    case 4:
        return interpret((const unsigned char *)"\1\3\1\4", value);
    case 5:
        return value ^ 0x55;
    case 6:
        return value >> 1;
    default:
        return ~value;
    }
}

static KEEP int touch(int value)
{
    guarded[8] = (char)value;
    return guarded[8];
}

static KEEP int fault(int value)
{
    mprotect((void *)(size_t)guarded, 4096, PROT_NONE);
    if (sigsetjmp(escape, 1) == 0)
        return touch(value);
    return value + 1;
}

static void install(int number, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

int main(int argc, char **argv)
{
    static char alternate[65536];
    int rounds = argc > 1 ? atoi(argv[1]) : 4000;
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    int value = 1;
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, NULL);
    install(SIGALRM, on_alarm, SA_RESTART);
    install(SIGUSR1, on_usr1, SA_ONSTACK);
    install(SIGUSR2, on_usr2, 0);
    install(SIGSEGV, on_fault, 0);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < rounds; i++) {
        for (unsigned k = 0; k < 40; k++)
            value = choose((unsigned)value + k, value);
        if (i % 8 == 0)
            raise(SIGUSR1);
        if (i % 32 == 0)
            value += fault(i);
    }
    timer.it_interval.tv_usec = timer.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("%d %d\n", usr1, faults); /* value depends on nothing but rounds; ticks on the clock */
    return value == 0x7fffffff;
}
