/* The GUIDs of functions, by the numbers of their names: found once each. */
#ifndef CSP_PROFGEN_GUIDS_H
#define CSP_PROFGEN_GUIDS_H

#include "base/intern.h"

#include <stdbool.h>

struct csp_guids {
    const struct csp_intern *names;
    bool numbers;            /* names are GUIDs in decimal, of a profile that has no others */
    CSP_VEC(uint64_t) known; /* by name; 0: not known yet */
};

uint64_t csp_guid_of(struct csp_guids *guids, uint32_t name);
void csp_guids_free(struct csp_guids *guids);

#endif
