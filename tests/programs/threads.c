/* Threads that come and go, share a lock, and call through pointers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long shared;

static KEEP unsigned long collatz(unsigned long n)
{
    unsigned long steps = 0;
    for (; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static KEEP unsigned long gcd(unsigned long a, unsigned long b)
{
    return b ? gcd(b, a % b) : a;
}

static KEEP unsigned long mix(unsigned long a)
{
    for (int i = 0; i < 50; i++)
        a = (a ^ a << 13) * 5 + (a >> 7);
    return a;
}

static KEEP unsigned long collatz_of(unsigned long i)
{
    return collatz(i + 1);
}

static KEEP unsigned long gcd_of(unsigned long i)
{
    return gcd(i * 840 + 120, i * 36 + 12);
}

static unsigned long (*const work[])(unsigned long) = {collatz_of, gcd_of, mix};

static void *run(void *argument)
{
    unsigned long seed = (unsigned long)argument, total = 0;
    for (unsigned long i = 0; i < 3000; i++) {
        total += work[(i + seed) % 3](i);
        if (i % 100 == 0) {
            pthread_mutex_lock(&lock);
            shared += total;
            pthread_mutex_unlock(&lock);
        }
    }
    return (void *)total;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    unsigned long total = 0;
    for (int round = 0; round < rounds; round++) {
        pthread_t threads[4];
        for (unsigned long i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
                return 1;
        for (int i = 0; i < 4; i++) {
            void *result;
            pthread_join(threads[i], &result);
            total += (unsigned long)result;
        }
    }
    printf("%lu\n", total);
    return shared == 0;
}
