/* Programs of which it is known where their time goes.
 *
 * Each runs for some seconds and then says, a line a place: `place START END SHARE WHAT`, addresses
 * hexadecimal, SHARE of its time between 0 and 1, and before them `about TEXT`. Shares are measured
 * without any sampling, by a clock around loops that differ in one thing. */
#ifndef CSP_VALIDATE_WORKLOAD_H
#define CSP_VALIDATE_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

double csp_workload_now(void); /* seconds */

/* A list of cache lines larger than any cache, each of which holds the address of the next: in
 * random order (`random`), so that each load waits for memory, or in the order of addresses. */
void csp_workload_memlat(FILE *out, int random, double seconds);
/* The same sums over a vector, compiled with and without vector instructions. */
void csp_workload_vecmix(FILE *out, double seconds);

#endif
