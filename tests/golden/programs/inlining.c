/* Inlining over four levels: the same leaf under many inline callers, in one function and in two.
 */
#include "start.h"

static unsigned table[256];
static unsigned probes; /* makes every call count: none is moved out of a loop */

static INLINE unsigned leaf(unsigned x)
{
    if (x & 1)
        return x * 3 + 1;
    return x >> 1;
}

static INLINE unsigned twice(unsigned x)
{
    return leaf(leaf(x));
}

static INLINE unsigned mix(unsigned x, unsigned y)
{
    unsigned sum = twice(x);
    if (y > 128)
        sum += leaf(y);
    return sum;
}

NOINLINE unsigned lookup(unsigned key, unsigned misses_wanted)
{
    unsigned slot = key & 255;
    for (unsigned step = 0; step < 8; step++) {
        probes++;
        if (table[slot] == key)
            return misses_wanted ? 0 : slot;
        slot = (slot + 1) & 255;
    }
    return misses_wanted;
}

static INLINE unsigned find_present(unsigned n)
{
    return lookup(n & 255, 0);
}

static INLINE unsigned find_absent(unsigned n)
{
    return lookup(n | 0x10000, 1);
}

NOINLINE unsigned mostly_present(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += mix(find_present(i), i);
    return sum;
}

NOINLINE unsigned mostly_absent(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += find_absent(i);
        if (!(i & 15))
            sum += mix(sum, i);
    }
    return sum;
}

unsigned run(void)
{
    for (unsigned i = 0; i < 256; i++)
        table[i] = i;
    unsigned sum = 0;
    for (unsigned round = 0; round < 100; round++) {
        sum += mostly_present(150);
        sum ^= mostly_absent(60);
    }
    return sum + probes;
}
