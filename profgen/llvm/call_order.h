/* The order in which the pre-inliner visits functions: libLLVM's, by its profiled call graph. */
#ifndef CSP_PROFGEN_LLVM_CALL_ORDER_H
#define CSP_PROFGEN_LLVM_CALL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct csp_call {
    uint32_t caller, callee; /* numbers of functions */
    uint64_t weight;
};

/* Writes the numbers of all functions, callers before callees; of functions that call each other,
 * the most frequent calls are forward, and else they come in the order of their names. Each pair of
 * functions calls once. `guids`: the names are GUIDs in decimal. */
void csp_call_order(const char *const *names, size_t count, bool guids,
                    const struct csp_call *calls, size_t call_count, uint32_t *order);

#ifdef __cplusplus
}
#endif

#endif
