/* Which program this is, to the byte: for results that are kept until it changes. */
#ifndef CSP_BASE_OWN_CODE_H
#define CSP_BASE_OWN_CODE_H

#include <stdint.h>

/* A digest of the running program's file and of the build-ids of all libraries it has loaded (of
 * the code of those that have none). */
uint64_t csp_own_code_digest(void);

#endif
