#include "profgen/bolt.h"

#include "base/alloc.h"
#include "profgen/llvm/machine.h"

#include <string.h>

static uint64_t write_preagg(const struct csp_counters *counters, struct csp_buf *out)
{
    struct csp_counter *branches = csp_counters_sorted(&counters->branches);
    struct csp_counter *ranges = csp_counters_sorted(&counters->ranges);
    for (size_t i = 0; i < counters->branches.counts.len; i++) {
        const struct csp_counter *branch = &branches[i];
        csp_buf_add_string(out, "B ");
        if (branch->from == CSP_EXTERNAL)
            csp_buf_add_string(out, "X:0");
        else
            csp_buf_add_hex(out, branch->from);
        csp_buf_add_char(out, ' ');
        csp_buf_add_hex(out, branch->to);
        csp_buf_printf(out, " %llu 0\n", (unsigned long long)branch->count);
    }
    for (size_t i = 0; i < counters->ranges.counts.len; i++) {
        csp_buf_add_string(out, "F ");
        csp_buf_add_hex(out, ranges[i].from);
        csp_buf_add_char(out, ' ');
        csp_buf_add_hex(out, ranges[i].to);
        csp_buf_printf(out, " %llu\n", (unsigned long long)ranges[i].count);
    }
    free(branches);
    free(ranges);
    return counters->branches.counts.len + counters->ranges.counts.len;
}

/* A function as BOLT names it. */
struct named {
    const struct csp_symbol *symbol;
    uint32_t number; /* of a local symbol among those of its name; else 0 */
};

struct edges {
    const struct csp_program *program;
    CSP_VEC(struct named) functions; /* by address */
    struct csp_counters counters;    /* the edges are its branches */
    struct csp_map targets;          /* of direct branches, in functions that were looked at */
    struct csp_map looked_at;        /* functions */
};

static void name_functions(struct edges *edges)
{
    struct csp_intern names = {0};
    CSP_VEC(uint32_t) counts = {0};
    for (size_t i = 0; i < edges->program->symbols.len; i++) {
        const struct csp_symbol *symbol = &edges->program->symbols.data[i];
        uint32_t number = 0;
        if (symbol->local) {
            uint32_t id = csp_intern_string(&names, symbol->name);
            if (id == counts.len)
                csp_vec_push(&counts, 0);
            number = ++counts.data[id];
        }
        if (symbol->function && symbol->size)
            csp_vec_push(&edges->functions, (struct named){symbol, number});
    }
    csp_intern_free(&names);
    csp_vec_free(&counts);
}

/* The function that holds an address, or null. */
static const struct named *function_at(const struct edges *edges, uint64_t address)
{
    size_t low = 0, high = edges->functions.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges->functions.data[middle].symbol->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    const struct named *found = &edges->functions.data[low - 1];
    return address - found->symbol->address < found->symbol->size ? found : NULL;
}

/* Notes where the direct branches of a function lead: blocks begin there. */
static void find_targets(struct edges *edges, const struct csp_symbol *symbol)
{
    const struct csp_program *program = edges->program;
    uint64_t *known = csp_map_at(&edges->looked_at, symbol->address);
    if (*known)
        return;
    *known = 1;
    csp_code_find_targets(&program->code, program->machine, symbol->address,
                          symbol->address + symbol->size, &edges->targets);
}

/* Whether a block ends at `at` though execution went on to `next`. A jump behind a conditional one
 * ends the same block. */
static bool ends_block(const struct edges *edges, uint64_t at, uint64_t next)
{
    const struct csp_code *code = &edges->program->code;
    if (csp_map_find(&edges->targets, next))
        return true;
    bool jump_follows = (csp_code_flags(code, next) & CSP_CODE_ALWAYS) &&
                        !(csp_code_flags(code, next) & CSP_CODE_INDIRECT);
    return (csp_code_flags(code, at) & CSP_CODE_BRANCH) && !jump_follows;
}

/* The edges between the blocks that a range runs through. */
static void add_range(struct edges *edges, const struct csp_counter *range)
{
    const struct csp_code *code = &edges->program->code;
    const struct named *function = function_at(edges, range->from);
    if (!function)
        return;
    find_targets(edges, function->symbol);
    for (uint64_t at = range->from, next; at < range->to; at = next) {
        next = csp_code_from(code, at + 1);
        if (!next || next > range->to)
            return;
        if (ends_block(edges, at, next))
            csp_counters_add(&edges->counters.branches, 0, at, next, range->count);
    }
}

static bool add_place(const struct edges *edges, uint64_t address, struct csp_buf *out)
{
    const struct named *function = function_at(edges, address);
    if (!function) {
        csp_buf_add_string(out, "0 [unknown] 0 ");
        return false;
    }
    csp_buf_add_string(out, "1 ");
    for (const char *at = function->symbol->name; *at; at++) {
        if (*at == ' ' || *at == '\\')
            csp_buf_add_char(out, '\\');
        csp_buf_add_char(out, *at);
    }
    if (function->number)
        csp_buf_printf(out, "/%u", function->number);
    csp_buf_add_char(out, ' ');
    csp_buf_add_hex(out, address - function->symbol->address);
    csp_buf_add_char(out, ' ');
    return true;
}

/* BOLT has no use for returns: it knows where calls return to. */
static bool is_return(const struct csp_program *program, const struct csp_counter *branch)
{
    return csp_code_flags(&program->code, branch->from) & CSP_CODE_RETURN;
}

static uint64_t write_fdata(const struct csp_program *program, const struct csp_counters *counters,
                            struct csp_buf *out)
{
    struct edges edges = {.program = program};
    name_functions(&edges);
    struct csp_counter *ranges = csp_counters_sorted(&counters->ranges);
    struct csp_counter *branches = csp_counters_sorted(&counters->branches);
    for (size_t i = 0; i < counters->ranges.counts.len; i++)
        add_range(&edges, &ranges[i]);
    for (size_t i = 0; i < counters->branches.counts.len; i++)
        if (!is_return(program, &branches[i]))
            csp_counters_add(&edges.counters.branches, 0, branches[i].from, branches[i].to,
                             branches[i].count);
    free(ranges);
    free(branches);
    struct csp_counter *all = csp_counters_sorted(&edges.counters.branches);
    uint64_t lines = 0;
    for (size_t i = 0; i < edges.counters.branches.counts.len; i++) {
        size_t before = out->len;
        bool from = add_place(&edges, all[i].from, out), to = add_place(&edges, all[i].to, out);
        csp_buf_printf(out, "0 %llu\n", (unsigned long long)all[i].count);
        if (from || to)
            lines++;
        else
            out->len = before;
    }
    free(all);
    csp_vec_free(&edges.functions);
    csp_counters_free(&edges.counters);
    csp_map_free(&edges.targets);
    csp_map_free(&edges.looked_at);
    return lines;
}

uint64_t csp_bolt_write(const struct csp_program *program, const struct csp_counters *counters,
                        enum csp_bolt_format format, struct csp_buf *out)
{
    return format == CSP_BOLT_FDATA ? write_fdata(program, counters, out)
                                    : write_preagg(counters, out);
}
