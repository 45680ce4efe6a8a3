/* csprof-workload NAME SECONDS FILE: runs a workload and writes to FILE where its time went. */
#include "workload.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double csp_vecmix_scalar(const float *a, const float *b, size_t count);
double csp_vecmix_vector(const float *a, const float *b, size_t count);

double csp_workload_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

typedef double sum_fn(const float *a, const float *b, size_t count);

static double timed(sum_fn *sum, const float *a, const float *b, size_t count, double *result)
{
    double began = csp_workload_now();
    *result += sum(a, b, count);
    return csp_workload_now() - began;
}

/* Functions are told apart by where they begin: no sample of one is near the other's beginning. */
static void function(FILE *out, sum_fn *start, double share, const char *what)
{
    enum { LARGEST = 1024 }; /* bytes of such a loop */
    uintptr_t at = (uintptr_t)start, end = at + LARGEST;
    sum_fn *const functions[] = {csp_vecmix_scalar, csp_vecmix_vector};
    for (size_t i = 0; i < 2; i++)
        if ((uintptr_t)functions[i] > at && (uintptr_t)functions[i] < end)
            end = (uintptr_t)functions[i];
    fprintf(out, "place %llx %llx %.6f %s\n", (unsigned long long)at, (unsigned long long)end,
            share, what);
}

void csp_workload_vecmix(FILE *out, double seconds)
{
    enum { COUNT = 4096 }; /* both vectors stay in the first-level cache */
    static float a[COUNT], b[COUNT];
    double result = 0, scalar = 0, vector = 0;
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)(i % 17) / 16;
        b[i] = (float)(i % 23) / 32;
    }
    for (double began = csp_workload_now(); csp_workload_now() < began + seconds;) {
        for (int i = 0; i < 100; i++)
            scalar += timed(csp_vecmix_scalar, a, b, COUNT, &result);
        for (int i = 0; i < 100; i++)
            vector += timed(csp_vecmix_vector, a, b, COUNT, &result);
    }
    fprintf(out, "about The same sums, %.2f times faster with vector instructions.%s\n",
            scalar / vector, result < 0 ? " (Their sum is negative!)" : "");
    function(out, csp_vecmix_scalar, scalar / (scalar + vector), "the sums without vectors");
    function(out, csp_vecmix_vector, vector / (scalar + vector), "the sums with vectors");
}

int main(int argc, char **argv)
{
    double seconds = argc == 4 ? strtod(argv[2], NULL) : 0;
    FILE *out = seconds > 0 ? fopen(argv[3], "w") : NULL;
    if (!out) {
        fputs("usage: csprof-workload chase|seq|vecmix SECONDS FILE\n", stderr);
        return 2;
    }
    if (!strcmp(argv[1], "chase") || !strcmp(argv[1], "seq"))
        csp_workload_memlat(out, argv[1][0] == 'c', seconds);
    else if (!strcmp(argv[1], "vecmix"))
        csp_workload_vecmix(out, seconds);
    else
        return 2;
    return fclose(out) == 0 ? 0 : 1;
}
