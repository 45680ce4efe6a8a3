/* Every way in which a frame comes and goes: records at the bottom and at the top of a frame, big
 * frames, frames of a size that only running tells, none; leaf functions, sibling calls, calls
 * through pointers, recursion; longjmp out of many frames, functions that do not return, signal
 * handlers; and code without frame pointers in between (stacks_bare.c).
 *
 *     stacks ROUNDS
 */
#include "stacks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static KEEP unsigned leaf(unsigned x)
{
    return x * 2654435761u >> 3;
}

/* A leaf with a frame, but no need of a record. */
static KEEP unsigned leaf_with_locals(unsigned x)
{
    volatile unsigned table[24];
    for (unsigned i = 0; i < 24; i++)
        table[i] = x ^ i;
    return table[x % 24];
}

/* Callee-saved registers in pairs below and above the record. */
static KEEP unsigned busy(unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned w = leaf(a), x = leaf(b ^ w), y = leaf(c ^ x), z = leaf(d ^ y);
    unsigned v = leaf(w + x + y + z), u = leaf_with_locals(v);
    return w ^ x ^ y ^ z ^ u ^ leaf(u + a) ^ leaf(v + b) ^ c ^ d;
}

/* More than an immediate can take from sp in one instruction, and pages that are probed. */
static KEEP unsigned big_frame(unsigned x)
{
    volatile unsigned char buffer[70000];
    buffer[x % sizeof buffer] = (unsigned char)x;
    return leaf(x) + buffer[x % sizeof buffer];
}

static KEEP unsigned variable_frame(unsigned count)
{
    volatile unsigned values[count % 50 + 1];
    for (unsigned i = 0; i <= count % 50; i++)
        values[i] = leaf(i);
    return values[count % 50] + leaf_with_locals(count);
}

static KEEP double floating(double x, double y)
{
    return leaf((unsigned)x) * y + leaf((unsigned)y) * x;
}

/* The record is made only on the path that calls. */
static KEEP unsigned shrink_wrapped(unsigned x)
{
    if (x % 3)
        return x + 1;
    unsigned a = leaf(x), b = leaf(a);
    return busy(a, b, x, 1) + b;
}

static KEEP unsigned variadic(unsigned count, ...)
{
    unsigned sum = 0;
    va_list list;
    va_start(list, count);
    for (unsigned i = 0; i < count; i++)
        sum += leaf(va_arg(list, unsigned));
    va_end(list);
    return sum;
}

static unsigned tail_b(unsigned n, unsigned x);

/* `b` instead of `bl`, with and without a frame that is left before. */
static KEEP unsigned tail_a(unsigned n, unsigned x)
{
    return n ? tail_b(n - 1, x + leaf(x)) : leaf(x);
}

static KEEP unsigned tail_b(unsigned n, unsigned x)
{
    return n ? tail_a(n - 1, x * 3) : busy(x, n, x, n);
}

static unsigned (*const table[])(unsigned) = {leaf, leaf_with_locals, big_frame, shrink_wrapped,
                                              variable_frame};

static KEEP unsigned through_pointer(unsigned x)
{
    return table[x % 5](x) + 1;
}

static KEEP unsigned recurse(unsigned depth, unsigned x)
{
    if (!depth)
        return through_pointer(x);
    unsigned below = recurse(depth - 1, leaf(x));
    return depth & 1 ? below + leaf_with_locals(below) : below;
}

static jmp_buf escape;

static KEEP __attribute__((noreturn)) void leave(unsigned x)
{
    longjmp(escape, (int)(leaf(x) % 7 + 1));
}

static KEEP unsigned dive(unsigned depth, unsigned x)
{
    if (!depth)
        leave(x);
    return dive(depth - 1, x + 1) + leaf(x);
}

static KEEP unsigned escaped(unsigned x)
{
    int code = setjmp(escape);
    if (!code)
        return dive(x % 11 + 1, x);
    return leaf((unsigned)code) + x;
}

static volatile unsigned handled;

static KEEP void in_handler(unsigned x)
{
    handled += leaf(x) + leaf_with_locals(x);
}

static void handler(int number)
{
    in_handler((unsigned)number);
}

static int compare(const void *a, const void *b)
{
    unsigned x = leaf(*(const unsigned *)a), y = leaf(*(const unsigned *)b);
    return (x > y) - (x < y);
}

/* Up into the C library and down again. */
static KEEP unsigned sorted(unsigned x)
{
    unsigned values[12];
    for (unsigned i = 0; i < 12; i++)
        values[i] = leaf(x + i);
    qsort(values, 12, sizeof *values, compare);
    return values[x % 12];
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100, x = 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; i < rounds; i++) {
        x += busy(x, i, x ^ i, 3) + big_frame(x) + variable_frame(x);
        x += (unsigned)floating(x & 1023, i & 255) + shrink_wrapped(i) + shrink_wrapped(x);
        x += variadic(3, x, i, 5u) + tail_a(i % 6, x) + through_pointer(i);
        x += recurse(i % 8, x) + escaped(x) + bare_chain(x, leaf) + bare_recursion(i % 5, x);
        x += bare_tail(x) + sorted(x);
        if (i % 8 == 0)
            raise(SIGUSR1);
    }
    printf("%u\n", x);
    return 0;
}
