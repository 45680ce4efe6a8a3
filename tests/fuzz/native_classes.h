/* What no trace unit sends, so that nobody can say which of two decoders is right: classes of
 * inputs of fuzz_native.c on which OpenCSD 1.3.3 and the native engine are known to differ, each
 * counted. */
#ifndef CSP_TESTS_NATIVE_CLASSES_H
#define CSP_TESTS_NATIVE_CLASSES_H

#include "fuzz_native.h"
#include "reference_child.h"

enum csp_fuzz_class {
    CSP_FUZZ_COMPARABLE,
    /* An address comes before any context has said which instruction set it is of. OpenCSD takes an
     * address packet of four bytes for all of a 32-bit address until then, and walks to an
     * exception. */
    CSP_FUZZ_NO_CONTEXT,
    /* A context of 32-bit code, which only OpenCSD follows; in it addresses have no upper half. */
    CSP_FUZZ_32BIT,
};
enum csp_fuzz_class csp_fuzz_class(const struct fuzz_head *head, const uint8_t *data, size_t size);

/* A number in our list, and the one in theirs that it is compared with. */
struct csp_fuzz_place {
    size_t ours, theirs;
};

/* Whether this is an exception that ends no range which we know of, where OpenCSD tells one: */
enum csp_fuzz_difference {
    CSP_FUZZ_OTHER,
    CSP_FUZZ_RETURNS_BACK,  /* it returns to before where execution is; OpenCSD goes on to a branch
                             */
    CSP_FUZZ_BEHIND_BRANCH, /* a branch to who knows where was taken before; OpenCSD goes on behind
                               it */
};
enum csp_fuzz_difference csp_fuzz_difference(const struct csp_elements *ours,
                                             const struct csp_elements *theirs,
                                             struct csp_fuzz_place at);

/* Whether this element of OpenCSD's is a context that says once more what the last one of its
 * source said, and an exception follows. That a packet says "as before" it tells there alone, and
 * nowhere else does either: nothing has changed. */
bool csp_fuzz_repeats_context(const struct csp_elements *theirs, size_t number);

#endif
