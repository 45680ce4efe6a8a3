/* Tail calls: chains whose middle frames are gone, two ways to one target, a state machine. */
#include "start.h"

static unsigned ticks;

NOINLINE unsigned finish(unsigned x)
{
    ticks++;
    return x ^ (x >> 3);
}

NOINLINE unsigned third(unsigned x)
{
    if (x % 3 == 0)
        x += 7;
    return finish(x);
}

NOINLINE unsigned second(unsigned x)
{
    if (x & 4)
        return third(x + 1);
    return finish(x + 2);
}

NOINLINE unsigned first(unsigned x)
{
    ticks += x & 1;
    return second(x * 5);
}

/* Reaches finish() by one way only. */
NOINLINE unsigned only_way(unsigned x)
{
    ticks += 2;
    return third(x - 1);
}

typedef unsigned state_function(const unsigned char *text, unsigned sum);

NOINLINE unsigned in_word(const unsigned char *text, unsigned sum);

NOINLINE unsigned in_space(const unsigned char *text, unsigned sum)
{
    if (!*text)
        return sum;
    if (*text == ' ') __attribute__
        ((musttail)) return in_space(text + 1, sum);
    __attribute__((musttail)) return in_word(text + 1, sum + 1);
}

unsigned in_word(const unsigned char *text, unsigned sum)
{
    if (!*text)
        return sum;
    state_function *next = *text == ' ' ? in_space : in_word;
    __attribute__((musttail)) return next(text + 1, sum + *text);
}

static const unsigned char prose[] = "a tail call leaves no frame behind  and so the caller's "
                                     "caller is all that a stack walk   finds";

unsigned run(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 12000; i++) {
        sum += first(i);
        if (i & 1)
            sum += only_way(i);
        if ((i & 63) == 0)
            sum += in_space(prose, i);
    }
    return sum + ticks;
}
