/* Libraries that trust the files they read: a damaged one ends the process, or asks for more memory
 * than there is. So a copy of the process reads it first. */
#ifndef CSP_BASE_ATTEMPT_H
#define CSP_BASE_ATTEMPT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a copy of this process comes through `attempt`; what that prints, and what it changes in
 * memory that is not shared, is lost. True where no copy can be made. */
bool csp_attempt(void (*attempt)(void *user), void *user);

#ifdef __cplusplus
}
#endif

#endif
