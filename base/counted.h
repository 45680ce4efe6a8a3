/* Counts in messages: "1 sample", "2 samples", "0 branches". */
#ifndef CSP_BASE_COUNTED_H
#define CSP_BASE_COUNTED_H

#include <stdint.h>

enum { CSP_COUNTED_SIZE = 64 };

/* A count and what is counted, given in the singular, as text that lasts as long as the block. */
#define CSP_COUNTED(count, noun) csp_counted((char[CSP_COUNTED_SIZE]){0}, count, noun)

/* The same in memory of CSP_COUNTED_SIZE bytes, which is returned. */
const char *csp_counted(char *text, uint64_t count, const char *noun);

/* A word that depends on how many there are: was or were. */
static inline const char *csp_by_count(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

#endif
