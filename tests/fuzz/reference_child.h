/* OpenCSD on inputs of which nobody knows what it does with them: in a process of its own, which
 * may crash or hang, and is then started again. */
#ifndef CSP_TESTS_REFERENCE_CHILD_H
#define CSP_TESTS_REFERENCE_CHILD_H

#include "base/vec.h"
#include "decode/trace/element.h"

#include <stdint.h>

struct csp_elements {
    CSP_VEC(struct csp_element) list;
};

/* What a child does with an input: fills in the elements; false when they are of no use. */
typedef bool csp_reference_fn(const uint8_t *input, size_t size, struct csp_elements *elements);

/* Has `decode` run on the input in the child. False when it crashed, took longer than two seconds,
 * or returned false. */
bool csp_reference_ask(csp_reference_fn *decode, const uint8_t *input, size_t size,
                       struct csp_elements *elements);

#endif
