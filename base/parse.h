/* Numbers that people type. */
#ifndef CSP_BASE_PARSE_H
#define CSP_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* A decimal or 0x count with an optional SI (k, M, G, T: powers of 1000) or IEC (Ki, Mi, Gi, Ti)
 * suffix and an optional trailing "B". False when it is anything else or does not fit. */
bool csp_parse_count(const char *text, uint64_t *value);
/* A real number in [low, high]. */
bool csp_parse_real(const char *text, double low, double high, double *value);

#endif
