/* Indirect calls: comparisons, visitors and a table of operations, all static (unique names). */
#include "start.h"

typedef int comparison(unsigned a, unsigned b);
typedef unsigned operation(unsigned a, unsigned b);

static NOINLINE int ascending(unsigned a, unsigned b)
{
    return a < b ? -1 : a > b;
}

static NOINLINE int descending(unsigned a, unsigned b)
{
    return a > b ? -1 : a < b;
}

static NOINLINE int by_digits(unsigned a, unsigned b)
{
    unsigned x = 0, y = 0;
    for (; a; a /= 10)
        x += a % 10;
    for (; b; b /= 10)
        y += b % 10;
    return ascending(x, y);
}

static NOINLINE void sort(unsigned *values, unsigned count, comparison *compare)
{
    for (unsigned i = 1; i < count; i++) {
        unsigned value = values[i], hole = i;
        while (hole && compare(value, values[hole - 1]) < 0) {
            values[hole] = values[hole - 1];
            hole--;
        }
        values[hole] = value;
    }
}

static unsigned add(unsigned a, unsigned b)
{
    return a + b;
}

static unsigned subtract(unsigned a, unsigned b)
{
    return a > b ? a - b : b - a;
}

static unsigned multiply(unsigned a, unsigned b)
{
    unsigned product = 0;
    for (; b; b >>= 1, a <<= 1) {
        if (b & 1)
            product += a;
    }
    return product;
}

static operation *volatile const operations[] = {add, subtract, multiply, add};

static NOINLINE unsigned fold(const unsigned *values, unsigned count, operation *combine)
{
    unsigned sum = 1;
    for (unsigned i = 0; i < count; i++)
        sum = combine(sum, values[i] & 0xffff);
    return sum;
}

static unsigned numbers[48];

static NOINLINE void fill(unsigned *state)
{
    for (unsigned i = 0; i < 48; i++)
        numbers[i] = next_random(state);
}

unsigned run(void)
{
    unsigned state = 7, sum = 0;
    for (unsigned round = 0; round < 40; round++) {
        fill(&state);
        sort(numbers, 48, ascending);
        sort(numbers, 16, descending);
        sort(numbers + 16, 12, by_digits);
        sum += fold(numbers, 48, operations[round & 3]);
    }
    return sum;
}
