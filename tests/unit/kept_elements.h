/* All elements that an engine delivers, for tests that compare two of them. */
#ifndef CSP_TESTS_KEPT_ELEMENTS_H
#define CSP_TESTS_KEPT_ELEMENTS_H

#include "base/vec.h"
#include "decode/trace/element.h"

struct elements {
    CSP_VEC(struct csp_element) list;
};

/* A sink; `user` is a struct elements. */
static int keep(void *user, const struct csp_element *elements, size_t count)
{
    struct elements *kept = user;
    for (size_t i = 0; i < count; i++)
        csp_vec_push(&kept->list, elements[i]);
    return 0;
}

#endif
