/* A program of two functions: `outer` and, 0x100 behind it, `inner`, both straight code of 4-byte
 * instructions that ends in a return. The test says where `outer` calls. */
#ifndef CSP_TESTS_TWO_FUNCTIONS_H
#define CSP_TESTS_TWO_FUNCTIONS_H

#include "profgen/program.h"

static inline void add_straight_code(struct csp_program *program, uint64_t start, uint64_t last,
                                     uint32_t function)
{
    static const uint8_t bytes[0x200];
    csp_code_add_section(&program->code, start, last + 4, bytes, 2);
    csp_vec_push(&program->functions.ranges,
                 (struct csp_function_range){
                     .start = start, .end = last + 4, .function = function, .entry = true});
}

static inline void mark_straight_code(struct csp_program *program, uint64_t start, uint64_t last)
{
    for (uint64_t at = start; at <= last; at += 4)
        csp_code_mark(&program->code, at, CSP_CODE_START);
    csp_code_mark(&program->code, last, CSP_CODE_RETURN);
}

static inline void add_two_functions(struct csp_program *program, uint64_t outer,
                                     uint64_t outer_return, uint64_t inner, uint64_t inner_return)
{
    add_straight_code(program, outer, outer_return, 0);
    add_straight_code(program, inner, inner_return, 1);
    csp_code_seal(&program->code);
    mark_straight_code(program, outer, outer_return);
    mark_straight_code(program, inner, inner_return);
}

static inline void free_two_functions(struct csp_program *program)
{
    csp_vec_free(&program->segments);
    csp_functions_free(&program->functions);
    csp_code_free(&program->code);
}

#endif
