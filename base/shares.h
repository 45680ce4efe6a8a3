/* Work in a row, shared by workers of which each does neighbours: what it learned of one it knows
 * of the next, and what two have both learned has to be put together. Each two workers have a
 * stretch of it. One takes items from its beginning and the other from its end, until they meet;
 * who has none left takes from the end of the stretch that has most. */
#ifndef CSP_BASE_SHARES_H
#define CSP_BASE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct csp_shares {
    uint64_t *stretches; /* first << 32 | end */
    unsigned count;
};

void csp_shares_begin(struct csp_shares *shares, uint32_t items, unsigned workers);
/* Takes the next item for a worker; false: there is none. Several may ask at once. */
bool csp_shares_next(struct csp_shares *shares, unsigned worker, uint32_t *item);
void csp_shares_free(struct csp_shares *shares);

#endif
