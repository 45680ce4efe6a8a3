#include "profgen/call_probes.h"

#include "base/alloc.h"
#include "profgen/llvm/debug_info.h"
#include "profgen/llvm/machine.h"
#include "profgen/llvm/names.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

bool csp_probe_discriminator_decode(uint32_t value, struct csp_probe_discriminator *decoded)
{
    bool shares_index = value & UINT32_C(1) << 28;
    decoded->index = value >> 3 & (shares_index ? 0x1fff : 0xffff);
    decoded->type = value >> 26 & 3;
    decoded->factor = value >> 19 & 0x7f;
    return (value & 7) == 7;
}

static uint32_t index_of(uint32_t discriminator)
{
    struct csp_probe_discriminator decoded;
    csp_probe_discriminator_decode(discriminator, &decoded);
    return decoded.index;
}

static const char *node_name(const struct csp_program *program, uint32_t node)
{
    const struct csp_probes *probes = &program->probes;
    uint32_t name = probes->functions.data[probes->nodes.data[node].function].name;
    return csp_intern_text(&program->names, name);
}

/* Whether a probe's function may be what DWARF calls `name`. Line tables alone know no linkage
 * names, so that `f` may stand for `f.__uniq.123` or `_ZL1fi.__uniq.123`. */
static bool names_agree(const char *probe_name, const char *name)
{
    size_t length = strlen(probe_name);
    return !strncmp(probe_name, name, length) && csp_name_canonical(name) == length;
}

/* The described function of a name, or of that name made unique; UINT32_MAX when there is none. */
static uint32_t described_function(struct csp_program *program, const char *name)
{
    const uint64_t *known =
        csp_map_find(&program->probes.by_guid, csp_name_guid(name, csp_name_canonical(name)));
    return known ? (uint32_t)(*known - 1) : UINT32_MAX;
}

/* The inlinee of `parent` at a callsite. Of several, the one of that name. */
static uint32_t find_inlinee(const struct csp_program *program, uint32_t parent, uint32_t callsite,
                             const char *name)
{
    const struct csp_probes *probes = &program->probes;
    uint32_t containing = CSP_NO_NODE, only = CSP_NO_NODE;
    size_t count = 0;
    for (uint32_t child = probes->nodes.data[parent].first_child; child != CSP_NO_NODE;
         child = probes->nodes.data[child].next_sibling) {
        if (probes->nodes.data[child].callsite != callsite)
            continue;
        if (names_agree(node_name(program, child), name))
            return child;
        if (strstr(node_name(program, child), name))
            containing = child;
        only = child;
        count++;
    }
    if (containing != CSP_NO_NODE)
        return containing;
    /* Another described function of that name must be an inlinee of its own. */
    bool described = csp_map_find(&probes->by_guid, csp_name_guid(name, strlen(name)));
    return count == 1 && !described ? only : CSP_NO_NODE;
}

static uint32_t inlinee(struct csp_program *program, uint32_t parent, uint32_t callsite,
                        const char *name)
{
    uint32_t node = find_inlinee(program, parent, callsite, name);
    if (node != CSP_NO_NODE)
        return node;
    uint32_t function = described_function(program, name);
    if (function == UINT32_MAX)
        return CSP_NO_NODE;
    return csp_probes_add_node(&program->probes, parent, callsite, function);
}

/* Of the functions at a symbol, the one of that name; the symbol's own where names cannot tell. */
static uint32_t find_top(const struct csp_program *program, uint64_t start, const char *name)
{
    const struct csp_probes *probes = &program->probes;
    const uint64_t *known = csp_map_find(&probes->by_start, start);
    if (!known)
        return CSP_NO_NODE;
    uint32_t first = (uint32_t)(*known - 1), containing = CSP_NO_NODE;
    for (uint32_t node = first; node != CSP_NO_NODE; node = probes->nodes.data[node].next_sibling) {
        if (names_agree(node_name(program, node), name))
            return node;
        if (containing == CSP_NO_NODE && strstr(node_name(program, node), name))
            containing = node;
    }
    return containing != CSP_NO_NODE ? containing : first;
}

/* The top node of the code at [start …), made when only calls are in it. */
static uint32_t top_node(struct csp_program *program, uint64_t start, const char *name)
{
    uint32_t known = find_top(program, start, name);
    if (known != CSP_NO_NODE)
        return known;
    uint32_t function = described_function(program, name);
    if (function == UINT32_MAX)
        return CSP_NO_NODE;
    uint32_t node = csp_probes_add_node(&program->probes, CSP_NO_NODE, 0, function);
    csp_probes_place(&program->probes, node, start, true);
    return node;
}

enum {
    MAY_CALL = CSP_CODE_CALL | CSP_CODE_BRANCH,
    ENDS_STRAIGHT_CODE = MAY_CALL | CSP_CODE_RETURN,
};

/* Jumps out of a function at its end are calls too, and so may be jumps to its own start. */
static bool may_call(const struct csp_program *program, uint64_t address, uint8_t flags,
                     uint32_t function)
{
    if (flags & CSP_CODE_CALL)
        return true;
    if (!(flags & CSP_CODE_BRANCH) || !(flags & CSP_CODE_ALWAYS))
        return false;
    if (flags & CSP_CODE_INDIRECT)
        return true;
    struct csp_insn insn;
    return csp_code_decode(&program->code, program->machine, address, &insn) && insn.has_target &&
           (csp_functions_at(&program->functions, insn.target) != function ||
            csp_functions_find_start(&program->functions, insn.target));
}

/* Where LLVM's pass puts the probe of the tail call at an address: before the last instruction of
 * its block that is not the call (which is still a pseudo-instruction then). 0: there is none, and
 * the pass deletes the probe. */
static uint64_t before_last(const struct csp_program *program, uint64_t jump,
                            const struct csp_map *targets)
{
    if (program->machine_type != EM_AARCH64)
        return jump;
    uint64_t last = csp_code_before(&program->code, jump);
    bool begins_block = last + 4 != jump || csp_map_find(targets, jump) ||
                        csp_code_flags(&program->code, last) & (CSP_CODE_BRANCH | CSP_CODE_RETURN);
    return begins_block ? 0 : last;
}

static bool rebuild_call(struct csp_program *program, uint64_t address, uint64_t start,
                         uint64_t probe_address)
{
    const struct csp_inline_frame *frames;
    size_t count = csp_debug_info_frames(program->debug, address, &frames);
    struct csp_probe_discriminator call;
    if (!count || !csp_probe_discriminator_decode(frames[0].discriminator, &call) ||
        call.type == CSP_PROBE_BLOCK)
        return false;
    uint32_t node = top_node(program, start, frames[count - 1].function);
    for (size_t i = count - 1; i && node != CSP_NO_NODE; i--)
        node = inlinee(program, node, index_of(frames[i].discriminator), frames[i - 1].function);
    if (node == CSP_NO_NODE)
        return false;
    csp_probes_add(&program->probes, (struct csp_probe){.address = probe_address,
                                                        .index = call.index,
                                                        .node = node,
                                                        .type = call.type});
    program->call_probes_rebuilt++;
    return true;
}

static void rebuild_range(struct csp_program *program, const struct csp_function_range *range,
                          bool hide_tail_calls, struct csp_diag *diag)
{
    bool has_probes = csp_program_has_probes(program, range->start);
    struct csp_map targets = {0};
    if (hide_tail_calls)
        csp_code_find_targets(&program->code, program->machine, range->start, range->end, &targets);
    uint64_t address = csp_code_find(&program->code, range->start, MAY_CALL);
    while (address && address < range->end) {
        uint8_t flags = csp_code_flags(&program->code, address);
        bool call = flags & CSP_CODE_CALL;
        uint64_t at = hide_tail_calls && !call ? before_last(program, address, &targets) : address;
        if (at && may_call(program, address, flags, range->function) &&
            !rebuild_call(program, address, range->start, at) && call && has_probes) {
            program->calls_without_probe++;
            csp_debug(diag, "%s: the call at 0x%" PRIx64 " has no probe", program->path, address);
        }
        address = csp_code_find(&program->code, address + 1, MAY_CALL);
    }
    csp_map_free(&targets);
}

/* The call probe in the straight code that ends in the jump at `jump`, or CSP_NO_PROBE. */
static uint32_t probe_before(const struct csp_program *program, uint64_t start, uint64_t jump)
{
    uint64_t at = csp_code_before(&program->code, jump);
    while (at >= start && at && !(csp_code_flags(&program->code, at) & ENDS_STRAIGHT_CODE)) {
        uint32_t probe = csp_probes_call_at(&program->probes, at);
        if (probe != CSP_NO_PROBE)
            return probe;
        at = csp_code_before(&program->code, at);
    }
    return CSP_NO_PROBE;
}

/* LLVM's pass puts the probe of a tail call before the instructions that drop the frame. */
static void move_to_jumps(struct csp_program *program, const struct csp_function_range *range)
{
    uint64_t address = csp_code_find(&program->code, range->start, MAY_CALL);
    for (; address && address < range->end;
         address = csp_code_find(&program->code, address + 1, MAY_CALL)) {
        uint8_t flags = csp_code_flags(&program->code, address);
        if ((flags & CSP_CODE_CALL) || !may_call(program, address, flags, range->function) ||
            csp_probes_call_at(&program->probes, address) != CSP_NO_PROBE)
            continue;
        uint32_t probe = probe_before(program, range->start, address);
        if (probe != CSP_NO_PROBE)
            program->probes.probes.data[probe].address = address;
    }
}

static void touch_pairs(const struct csp_functions *functions, struct csp_function_marks *touched,
                        const struct csp_pairs *pairs)
{
    for (size_t i = 0; i < pairs->list.len; i++) {
        csp_functions_mark(functions, touched, pairs->list.data[i].first);
        csp_functions_mark(functions, touched, pairs->list.data[i].second);
    }
}

/* The functions that the counters touch, as flags; the caller frees them. */
static uint8_t *touched_functions(const struct csp_program *program,
                                  const struct csp_counters *counters)
{
    const struct csp_functions *functions = &program->functions;
    struct csp_function_marks touched = {.flags = csp_calloc(functions->functions.len + 1, 1)};
    for (size_t i = 0; i < counters->frames.list.len; i++)
        csp_functions_mark(functions, &touched, counters->frames.list.data[i].second);
    touch_pairs(functions, &touched, &counters->ranges.spans);
    touch_pairs(functions, &touched, &counters->branches.spans);
    return touched.flags;
}

static int explain_none(const struct csp_program *program, bool required, struct csp_diag *diag)
{
    static const char message[] =
        "%s: none of %" PRIu64
        " calls has a probe in its %s, and without them there are no contexts "
        "and no call targets: compile with -gmlt -fdebug-info-for-profiling beside "
        "-fpseudo-probe-for-profiling";
    const char *where =
        program->has_lines ? "line-table discriminator" : "line table, which is missing";
    if (required)
        return csp_fail(diag, CSP_ERR_INPUT, message, program->path, program->calls_without_probe,
                        where);
    csp_warn(diag, message, program->path, program->calls_without_probe, where);
    return 0;
}

int csp_call_probes_rebuild(struct csp_program *program, const struct csp_counters *counters,
                            unsigned flags, struct csp_diag *diag)
{
    bool rebuild = !program->probes.has_call_probes;
    if (!rebuild && (flags & CSP_TAIL_CALLS_BEFORE_LAST))
        return 0;
    uint8_t *touched = touched_functions(program, counters);
    for (size_t i = 0; i < program->functions.ranges.len; i++) {
        const struct csp_function_range *range = &program->functions.ranges.data[i];
        if (!touched[range->function])
            continue;
        if (rebuild)
            rebuild_range(program, range, flags & CSP_TAIL_CALLS_BEFORE_LAST, diag);
        else
            move_to_jumps(program, range);
    }
    free(touched);
    csp_probes_seal(&program->probes);
    if (!rebuild || program->call_probes_rebuilt || !program->calls_without_probe)
        return 0;
    return explain_none(program, flags & CSP_CALL_PROBES_REQUIRED, diag);
}
