#include "profgen/units.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "profgen/llvm/debug_info.h"
#include "profgen/program.h"

#include <stdlib.h>

/* Of a GUID; units have smaller numbers. */
#define ANYWHERE UINT32_MAX

struct csp_units {
    struct csp_map unit_of; /* GUID of a function with code of its own: its unit */
    struct csp_map inlined; /* unit and GUID, mixed: that unit has that function inlined */
    bool whole_program;
};

static uint64_t mix(uint64_t unit, uint64_t guid)
{
    return guid ^ (unit + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t guid_of(const struct csp_probes *probes, uint32_t node)
{
    return probes->functions.data[probes->nodes.data[node].function].guid;
}

static bool is_weak(const struct csp_program *program, uint64_t address)
{
    size_t at = csp_lower_bound(program->symbols.data, program->symbols.len, address, address);
    for (; at < program->symbols.len && program->symbols.data[at].address == address; at++)
        if (program->symbols.data[at].weak)
            return true;
    return false;
}

/* The unit that a function of its own was compiled in, or CSP_NO_UNIT. */
static uint32_t unit_of_node(const struct csp_program *program, uint32_t node)
{
    const struct csp_function_range *range =
        csp_functions_find(&program->functions, program->probes.nodes.data[node].start);
    return range ? range->unit : CSP_NO_UNIT;
}

static void add_function(struct csp_units *units, const struct csp_program *program, uint32_t node)
{
    uint64_t start = program->probes.nodes.data[node].start;
    uint32_t unit = unit_of_node(program, node);
    if (unit == CSP_NO_UNIT)
        return;
    size_t before = units->unit_of.len;
    uint64_t *known = csp_map_at(&units->unit_of, guid_of(&program->probes, node));
    if (units->unit_of.len > before)
        *known = is_weak(program, start) ? ANYWHERE : unit;
    else if (*known != unit)
        *known = ANYWHERE;
}

static uint64_t lookup(const struct csp_map *map, uint64_t key)
{
    const uint64_t *found = csp_map_find(map, key);
    return found ? *found : ANYWHERE;
}

static void add_inlined(struct csp_units *units, const struct csp_program *program, uint32_t node)
{
    const struct csp_probes *probes = &program->probes;
    uint32_t top = node;
    while (probes->nodes.data[top].parent != CSP_NO_NODE)
        top = probes->nodes.data[top].parent;
    uint32_t unit = unit_of_node(program, top);
    if (top == node || unit == CSP_NO_UNIT)
        return;
    uint64_t guid = guid_of(probes, node), home = lookup(&units->unit_of, guid);
    units->whole_program |=
        home != ANYWHERE && home != unit && !is_weak(program, probes->nodes.data[top].start);
    *csp_map_at(&units->inlined, mix(unit, guid)) = 1;
}

struct csp_units *csp_units_create(const struct csp_program *program)
{
    struct csp_units *units = csp_calloc(1, sizeof *units);
    const struct csp_probes *probes = &program->probes;
    units->whole_program = program->debug && csp_debug_info_inlines_across_units(program->debug);
    for (uint32_t i = 0; i < probes->nodes.len; i++)
        if (probes->nodes.data[i].parent == CSP_NO_NODE)
            add_function(units, program, i);
    for (uint32_t i = 0; i < probes->nodes.len; i++)
        add_inlined(units, program, i);
    return units;
}

void csp_units_destroy(struct csp_units *units)
{
    csp_map_free(&units->unit_of);
    csp_map_free(&units->inlined);
    free(units);
}

bool csp_units_can_inline(const struct csp_units *units, uint64_t caller, uint64_t callee)
{
    uint64_t at = lookup(&units->unit_of, caller), home = lookup(&units->unit_of, callee);
    return units->whole_program || at == ANYWHERE || home == ANYWHERE || at == home ||
           csp_map_find(&units->inlined, mix(at, callee));
}
