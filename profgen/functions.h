/* The functions of a binary and the address ranges they are in: from DWARF, and from the symbol
 * table where DWARF does not know them. */
#ifndef CSP_PROFGEN_FUNCTIONS_H
#define CSP_PROFGEN_FUNCTIONS_H

#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define CSP_NO_FUNCTION UINT32_MAX
#define CSP_NO_UNIT (UINT32_MAX - 1)

enum csp_name_source {
    CSP_NAME_MATCHED,  /* DWARF's, and the symbol table says nothing else */
    CSP_NAME_SYMBOL,   /* the symbol table's: DWARF does not know the function */
    CSP_NAME_MISMATCH, /* DWARF's, and the symbol table has another one */
};

struct csp_function {
    uint32_t name;       /* in the binary's names */
    uint32_t probe_name; /* its name by its pseudo-probes, where it differs; CSP_INTERN_NONE */
    uint8_t name_source; /* enum csp_name_source */
    uint32_t first_part, parts; /* in csp_functions.parts */
};

/* [start, end) belongs to `function`. */
struct csp_function_range {
    uint64_t start, end;
    uint32_t function;
    uint32_t order; /* in which it was found; of ranges with one start the first counts */
    uint32_t unit;  /* the compile unit that it was compiled in; CSP_NO_UNIT: not known */
    bool entry;     /* `start` is where the function is called */
};

struct csp_functions {
    CSP_VEC(struct csp_function) functions;
    CSP_VEC(struct csp_function_range) ranges; /* by start, all different */
    CSP_VEC(struct csp_function_range) parts;  /* all ranges of a function, grouped by function */
    struct csp_map by_name;                    /* name to function + 1 */
};

struct csp_program;

/* Collects the functions of a binary whose symbols and debug information are there: those of the
 * debug information and, `with_symbols`, those that only the symbol table has. */
void csp_functions_load(struct csp_program *program, bool with_symbols);
void csp_functions_free(struct csp_functions *functions);
/* The range that holds an address, or null. */
struct csp_function_range *csp_functions_find(const struct csp_functions *functions,
                                              uint64_t address);
/* The range that starts at an address, or null. */
struct csp_function_range *csp_functions_find_start(const struct csp_functions *functions,
                                                    uint64_t address);
/* The function that holds an address, or CSP_NO_FUNCTION. */
uint32_t csp_functions_at(const struct csp_functions *functions, uint64_t address);
/* The same of many addresses one after the other, each mostly in the range of the one before:
 * its number is in *last, which is zero at first. */
uint32_t csp_functions_near(const struct csp_functions *functions, uint64_t address, size_t *last);

/* Some of the functions. Zero-initialise all but the flags, and free those. */
struct csp_function_marks {
    uint8_t *flags; /* by function */
    size_t last;    /* csp_functions_near */
};

/* Marks the function that holds an address, if any does. */
static inline void csp_functions_mark(const struct csp_functions *functions,
                                      struct csp_function_marks *marks, uint64_t address)
{
    uint32_t function = csp_functions_near(functions, address, &marks->last);
    if (function != CSP_NO_FUNCTION)
        marks->flags[function] = 1;
}

#endif
