#include "profgen/functions.h"

#include "base/search.h"
#include "profgen/llvm/debug_info.h"
#include "profgen/llvm/names.h"
#include "profgen/program.h"

#include <string.h>

static uint32_t function_named(struct csp_program *program, const char *name, size_t length,
                               enum csp_name_source source)
{
    struct csp_functions *functions = &program->functions;
    uint32_t id = csp_intern(&program->names, name, length);
    uint64_t *known = csp_map_at(&functions->by_name, id);
    if (!*known) {
        csp_vec_push(&functions->functions, (struct csp_function){.name = id,
                                                                  .probe_name = CSP_INTERN_NONE,
                                                                  .name_source = (uint8_t)source});
        *known = functions->functions.len;
    }
    return (uint32_t)(*known - 1);
}

static uint64_t lowest_code(const struct csp_program *program)
{
    for (size_t i = 0; i < program->segments.len; i++)
        if (program->segments.data[i].executable)
            return program->segments.data[i].address & ~UINT64_C(0xfff);
    return 0;
}

static void add_part(struct csp_functions *functions, uint32_t function, uint32_t unit,
                     uint64_t start, uint64_t end)
{
    struct csp_function_range part = {.start = start,
                                      .end = end,
                                      .function = function,
                                      .order = (uint32_t)functions->parts.len,
                                      .unit = unit};
    csp_vec_push(&functions->parts, part);
}

static void add_subprogram(void *user, const char *name, uint32_t unit, uint64_t start,
                           uint64_t end)
{
    struct csp_program *program = user;
    uint32_t function = function_named(program, name, strlen(name), CSP_NAME_MATCHED);
    /* The linker leaves discarded functions at addresses near zero. */
    if (start >= lowest_code(program))
        add_part(&program->functions, function, unit, start, end);
}

static int by_start(const void *a, const void *b)
{
    const struct csp_function_range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_function(const void *a, const void *b)
{
    const struct csp_function_range *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Makes the ranges from the parts found so far: sorted, one for each start. */
static void make_ranges(struct csp_functions *functions)
{
    functions->ranges.len = 0;
    csp_vec_reserve(&functions->ranges, functions->parts.len);
    for (size_t i = 0; i < functions->parts.len; i++)
        functions->ranges.data[i] = functions->parts.data[i];
    struct csp_function_range *ranges = functions->ranges.data;
    if (functions->parts.len)
        qsort(ranges, functions->parts.len, sizeof *ranges, by_start);
    for (size_t i = 0; i < functions->parts.len; i++) {
        size_t kept = functions->ranges.len;
        if (!kept || ranges[i].start != ranges[kept - 1].start)
            ranges[functions->ranges.len++] = ranges[i];
    }
}

static void group_parts(struct csp_functions *functions)
{
    if (functions->parts.len)
        qsort(functions->parts.data, functions->parts.len, sizeof *functions->parts.data,
              by_function);
    for (size_t i = 0; i < functions->parts.len; i++) {
        struct csp_function *function =
            &functions->functions.data[functions->parts.data[i].function];
        if (!function->parts++)
            function->first_part = (uint32_t)i;
    }
}

/* Adds the functions that only the symbol table knows, and notes where it calls a function by
 * another name than DWARF. Symbols are in the order of their addresses, so that of the ranges added
 * here only the last can hold the next one. */
static void add_symbols(struct csp_program *program)
{
    struct csp_functions *functions = &program->functions;
    struct csp_function_range last = {0};
    for (size_t i = 0; i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        if (!symbol->function || !symbol->size)
            continue;
        size_t length = csp_name_canonical_symbol(symbol->name);
        const struct csp_function_range *range = csp_functions_find(functions, symbol->address);
        if (symbol->address < last.end && (!range || range->start < last.start))
            range = &last;
        if (!range) {
            last.function = function_named(program, symbol->name, length, CSP_NAME_SYMBOL);
            last.start = symbol->address;
            last.end = symbol->address + symbol->size;
            functions->functions.data[last.function].name_source = CSP_NAME_SYMBOL;
            add_part(functions, last.function, CSP_NO_UNIT, last.start, last.end);
            continue;
        }
        struct csp_function *function = &functions->functions.data[range->function];
        const char *name = csp_intern_text(&program->names, function->name);
        if (strlen(name) != length || memcmp(name, symbol->name, length) != 0)
            function->name_source = CSP_NAME_MISMATCH;
    }
}

/* Tells the ranges that are entered by calls from those that are outlined parts of a function. */
static void mark_entries(struct csp_program *program)
{
    struct csp_functions *functions = &program->functions;
    for (size_t i = 0; i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        struct csp_function_range *range = csp_functions_find(functions, symbol->address);
        if (!range || range->entry)
            continue;
        const struct csp_function *function = &functions->functions.data[range->function];
        const char *name = csp_intern_text(&program->names, function->name);
        size_t length = csp_name_canonical(symbol->name);
        range->entry = function->parts == 1 || function->name_source != CSP_NAME_MATCHED ||
                       (strlen(name) == length && !memcmp(name, symbol->name, length));
    }
}

void csp_functions_load(struct csp_program *program, bool with_symbols)
{
    csp_debug_info_subprograms(program->debug, add_subprogram, program);
    make_ranges(&program->functions);
    if (with_symbols)
        add_symbols(program);
    make_ranges(&program->functions);
    group_parts(&program->functions);
    mark_entries(program);
}

void csp_functions_free(struct csp_functions *functions)
{
    csp_vec_free(&functions->functions);
    csp_vec_free(&functions->ranges);
    csp_vec_free(&functions->parts);
    csp_map_free(&functions->by_name);
}

struct csp_function_range *csp_functions_find(const struct csp_functions *functions,
                                              uint64_t address)
{
    size_t after = csp_upper_bound(functions->ranges.data, functions->ranges.len, start, address);
    if (!after || address >= functions->ranges.data[after - 1].end)
        return NULL;
    return &functions->ranges.data[after - 1];
}

struct csp_function_range *csp_functions_find_start(const struct csp_functions *functions,
                                                    uint64_t address)
{
    struct csp_function_range *range = csp_functions_find(functions, address);
    return range && range->start == address ? range : NULL;
}

uint32_t csp_functions_at(const struct csp_functions *functions, uint64_t address)
{
    const struct csp_function_range *range = csp_functions_find(functions, address);
    return range ? range->function : CSP_NO_FUNCTION;
}

/* Whether no range that starts later holds an address which is not below this one's start. */
static bool is_before_next(const struct csp_functions *functions, size_t range, uint64_t address)
{
    return range + 1 == functions->ranges.len || address < functions->ranges.data[range + 1].start;
}

uint32_t csp_functions_near(const struct csp_functions *functions, uint64_t address, size_t *last)
{
    const struct csp_function_range *ranges = functions->ranges.data;
    if (*last >= functions->ranges.len || address < ranges[*last].start ||
        !is_before_next(functions, *last, address)) {
        size_t after = csp_upper_bound(ranges, functions->ranges.len, start, address);
        if (!after)
            return CSP_NO_FUNCTION;
        *last = after - 1;
    }
    return address < ranges[*last].end ? ranges[*last].function : CSP_NO_FUNCTION;
}
