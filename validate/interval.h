/* How certain a rate is. */
#ifndef CSP_VALIDATE_INTERVAL_H
#define CSP_VALIDATE_INTERVAL_H

#include "base/json.h"

#include <stdint.h>

/* `count` of `of`, in the range that holds the true rate with 95 % certainty: Wilson's score
 * interval, which stays within 0 and 1 and says something when count is 0. */
struct csp_rate {
    uint64_t count, of;
    double rate, low, high; /* all 0 when `of` is */
};

struct csp_rate csp_rate_of(uint64_t count, uint64_t of);
/* "  1.23% [1.10, 1.37]" */
void csp_rate_text(const struct csp_rate *rate, struct csp_buf *out);
/* An object with the members of the struct. */
void csp_rate_json(const char *key, const struct csp_rate *rate, struct csp_json *json);

#endif
