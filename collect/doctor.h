/* Telling a person, or a program, what a machine can record and what would let it record more. */
#ifndef CSP_COLLECT_DOCTOR_H
#define CSP_COLLECT_DOCTOR_H

#include "base/buf.h"
#include "base/json.h"
#include "collect/assess.h"

void csp_doctor_text(const struct csp_target *target, const struct csp_assessment *assessment,
                     struct csp_buf *out);
/* Members of an object that the caller opened. */
void csp_doctor_json(const struct csp_target *target, const struct csp_assessment *assessment,
                     struct csp_json *json);

#endif
