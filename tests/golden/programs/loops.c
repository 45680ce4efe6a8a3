/* Blocks that the compiler copies: unrolled, peeled, unswitched and vector loops, tail duplication;
 * switches without a jump table; code that never runs beside code that always does. */
#include "start.h"

static unsigned data[512];

NOINLINE unsigned unrolled(const unsigned *values, unsigned count)
{
    unsigned sum = 0;
#pragma clang loop unroll_count(4) vectorize(disable)
    for (unsigned i = 0; i < count; i++) {
        if (values[i] & 1)
            sum += values[i];
        else
            sum ^= i;
    }
    return sum;
}

NOINLINE unsigned vector(const unsigned *values, unsigned count)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += values[i] * 5;
    return sum;
}

NOINLINE unsigned unswitched(const unsigned *values, unsigned count, unsigned mode)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++) {
        if (mode == 1)
            sum += values[i] / 3;
        else if (mode == 2)
            sum = (sum << 1) ^ values[i];
        if (sum > 0xfffffff0u)
            return i;
    }
    return sum;
}

NOINLINE unsigned decide(unsigned code, unsigned x)
{
    switch (code & 15) {
    case 0:
        return x + 1;
    case 1:
        return x * 3;
    case 2:
    case 3:
        return x ^ 0x55;
    case 5:
        return x / 7;
    case 8:
        return x % 11;
    case 9:
        return decide(x >> 4, x >> 8);
    case 12:
        return (x << 3) | (x >> 29);
    default:
        return x - code;
    }
}

NOINLINE unsigned search(const unsigned *values, unsigned count, unsigned wanted)
{
    for (unsigned i = 0; i < count; i++) {
        if (values[i] == wanted)
            return i;
        if (__builtin_expect(values[i] > 0xfffff000u, 0)) {
            data[0] = 0;
            return count;
        }
    }
    return count;
}

NOINLINE unsigned nested(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i; j < n; j++) {
            if ((i ^ j) & 4)
                continue;
            if (i * j > 300)
                break;
            sum += i * j;
        }
    }
    return sum;
}

unsigned run(void)
{
    unsigned state = 11, sum = 0;
    for (unsigned i = 0; i < 512; i++)
        data[i] = next_random(&state);
    for (unsigned round = 0; round < 60; round++) {
        sum += unrolled(data + round, 203);
        sum += vector(data, 300 + round);
        sum += unswitched(data, 100, round % 3);
        for (unsigned i = 0; i < 64; i++)
            sum += decide(data[(i + round) & 511], sum);
        sum += search(data, 512, data[(round * 37) & 511]);
        sum += nested(round & 31);
    }
    return sum;
}
