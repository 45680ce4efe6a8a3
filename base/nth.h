/* The n-th smallest of many numbers, in a time that grows with their number and nothing else: what
 * medians and quantiles need instead of a sorted array. */
#ifndef CSP_BASE_NTH_H
#define CSP_BASE_NTH_H

#include <stddef.h>
#include <stdint.h>

/* The value that would be at `n` if the values were sorted; n < count. They stay as they are. */
int64_t csp_nth(const int64_t *values, size_t count, size_t n);

#endif
