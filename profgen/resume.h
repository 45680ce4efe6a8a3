/* Work that was done before: an aggregate that is there already, whole, of the very same inputs. */
#ifndef CSP_PROFGEN_RESUME_H
#define CSP_PROFGEN_RESUME_H

#include "profgen/aggregate.h"

/* Whether `output` is the aggregate of these recordings and aggregates, by their contents. `binary`
 * is whose build-id it must have, then; null: that is not asked. */
bool csp_aggregate_is_done(const char *output, const char *const *inputs, size_t count,
                           const char *binary);

#endif
