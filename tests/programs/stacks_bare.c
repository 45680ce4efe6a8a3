/* Code without frame pointers, for stacks.c: return addresses on the stack that no record tells. */
#include "stacks.h"

static KEEP unsigned bare_leaf(unsigned x)
{
    return (x ^ 0x5bd1e995u) * 7;
}

static KEEP unsigned bare_frame(unsigned x)
{
    volatile unsigned array[10];
    for (unsigned i = 0; i < 10; i++)
        array[i] = bare_leaf(x + i);
    return array[x % 10];
}

/* Calls back into code with frame pointers: its caller is missing further down in the chain. */
KEEP unsigned bare_chain(unsigned x, unsigned (*callback)(unsigned))
{
    unsigned a = bare_frame(x), b = callback(a), c = bare_leaf(b);
    return a ^ b ^ callback(c);
}

KEEP unsigned bare_recursion(unsigned depth, unsigned x)
{
    if (!depth)
        return bare_frame(x);
    return bare_recursion(depth - 1, bare_leaf(x)) + depth;
}

KEEP unsigned bare_tail(unsigned x)
{
    return bare_frame(bare_leaf(x));
}
