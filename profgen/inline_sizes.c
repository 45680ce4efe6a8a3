#include "profgen/inline_sizes.h"

#include "base/alloc.h"
#include "profgen/call_probes.h"
#include "profgen/llvm/debug_info.h"

#include <string.h>

struct measure {
    struct csp_program *program;
    struct csp_inline_sizes *sizes;
    struct csp_function_marks wanted;
    CSP_VEC(struct csp_sized_frame) frames;
};

static void want_at(struct measure *measure, uint64_t address)
{
    csp_functions_mark(&measure->program->functions, &measure->wanted, address);
}

static void want_name(struct measure *measure, uint32_t name)
{
    const uint64_t *function = csp_map_find(&measure->program->functions.by_name, name);
    if (function && *function)
        measure->wanted.flags[*function - 1] = 1;
}

/* Callers count too: what they may grow to depends on their own size. llvm-profgen 22 forgets those
 * of contexts by lines, and then takes some other function's size for theirs. */
static void want_frame(struct measure *measure, uint64_t frame)
{
    if (measure->program->uses_probes)
        want_at(measure, frame);
    else
        want_name(measure, csp_lines_frame_at(&measure->program->lines, (uint32_t)frame)->name);
}

static void want_spans(struct measure *measure, const struct csp_pairs *spans, bool branches)
{
    for (size_t i = 0; i < spans->list.len; i++) {
        want_at(measure, spans->list.data[i].first);
        if (branches)
            want_at(measure, spans->list.data[i].second);
    }
}

static void want_counted(struct measure *measure, const struct csp_counters *counters, bool compat)
{
    bool forget_callers = compat && !measure->program->uses_probes;
    for (size_t i = 0; !forget_callers && i < counters->frames.list.len; i++)
        want_frame(measure, counters->frames.list.data[i].second);
    want_spans(measure, &counters->ranges.spans, false);
    want_spans(measure, &counters->branches.spans, true);
}

static void want_named(void *user, const char *name, size_t length)
{
    struct measure *measure = user;
    uint32_t id = csp_intern_find(&measure->program->names, name, length);
    if (id != CSP_INTERN_NONE)
        want_name(measure, id);
}

/* What the trie knows a frame by: its callsite is a probe, where those are used. */
static struct csp_sized_frame sized_frame(const struct csp_program *program,
                                          const struct csp_inline_frame *frame)
{
    struct csp_probe_discriminator probe;
    if (!program->uses_probes)
        return (struct csp_sized_frame){frame->function, csp_lines_from_start(frame),
                                        frame->discriminator};
    csp_probe_discriminator_decode(frame->discriminator, &probe);
    return (struct csp_sized_frame){frame->function, probe.index, 0};
}

/* Adds code of one function that is inlined through others, itself first. */
static void add_inlined(struct measure *measure, const struct csp_inline_frame *frames,
                        size_t count, uint32_t bytes)
{
    measure->frames.len = 0;
    for (size_t i = csp_lines_first_named(frames, count); i < count; i++)
        csp_vec_push(&measure->frames, sized_frame(measure->program, &frames[i]));
    if (measure->frames.len)
        csp_inline_sizes_add(measure->sizes, measure->frames.data, measure->frames.len, bytes);
}

static void add_range(struct measure *measure, const struct csp_function_range *range)
{
    const struct csp_program *program = measure->program;
    uint64_t at = csp_code_from(&program->code, range->start);
    while (at && at < range->end) {
        const struct csp_inline_frame *frames;
        uint64_t end;
        size_t count = csp_debug_info_inlining(program->debug, at, &frames, &end);
        if (end > range->end)
            end = range->end;
        add_inlined(measure, frames, count, (uint32_t)csp_code_bytes(&program->code, at, end));
        at = csp_code_from(&program->code, end);
    }
}

static const char *node_name(const struct csp_program *program, uint32_t node)
{
    const struct csp_probes *probes = &program->probes;
    uint32_t function = probes->nodes.data[node].function;
    return csp_intern_text(&program->names, probes->functions.data[function].name);
}

/* An inlined function of which only probes are left has no code, and that is its size. */
static void add_optimized_away(struct measure *measure, uint32_t node)
{
    const struct csp_probes *probes = &measure->program->probes;
    if (probes->nodes.data[node].first_probe != CSP_NO_PROBE) {
        uint32_t callsite = 0;
        measure->frames.len = 0;
        for (uint32_t up = node; up != CSP_NO_NODE; up = probes->nodes.data[up].parent) {
            csp_vec_push(&measure->frames,
                         (struct csp_sized_frame){node_name(measure->program, up), callsite, 0});
            callsite = probes->nodes.data[up].callsite;
        }
        csp_inline_sizes_add(measure->sizes, measure->frames.data, measure->frames.len, 0);
    }
}

/* Every inline node below the top nodes of the functions wanted; of several top nodes of one name
 * the last counts. */
static void add_all_optimized_away(struct measure *measure)
{
    const struct csp_probes *probes = &measure->program->probes;
    struct csp_map top_of = {0}; /* name to top node + 1 */
    for (uint32_t node = 0; node < probes->nodes.len; node++)
        if (probes->nodes.data[node].parent == CSP_NO_NODE) {
            uint32_t function = probes->nodes.data[node].function;
            *csp_map_at(&top_of, probes->functions.data[function].name) = (uint64_t)node + 1;
        }
    /* Parents come before their children. */
    uint8_t *below = csp_calloc(probes->nodes.len + 1, 1);
    const struct csp_functions *functions = &measure->program->functions;
    for (uint32_t id = 0; id < functions->functions.len; id++) {
        const uint64_t *top = csp_map_find(&top_of, functions->functions.data[id].name);
        if (measure->wanted.flags[id] && top)
            below[*top - 1] = 1;
    }
    for (uint32_t node = 0; node < probes->nodes.len; node++) {
        uint32_t parent = probes->nodes.data[node].parent;
        if (parent != CSP_NO_NODE)
            below[node] = below[parent];
        if (below[node])
            add_optimized_away(measure, node);
    }
    free(below);
    csp_map_free(&top_of);
}

static struct csp_inline_sizes *measure_wanted(struct measure *measure)
{
    struct csp_program *program = measure->program;
    measure->sizes = csp_inline_sizes_create();
    for (uint32_t id = 0; id < program->functions.functions.len; id++) {
        const struct csp_function *function = &program->functions.functions.data[id];
        for (uint32_t part = 0; measure->wanted.flags[id] && part < function->parts; part++)
            add_range(measure, &program->functions.parts.data[function->first_part + part]);
    }
    if (program->uses_probes)
        add_all_optimized_away(measure);
    free(measure->wanted.flags);
    csp_vec_free(&measure->frames);
    return measure->sizes;
}

struct csp_inline_sizes *csp_inline_sizes_of_counters(struct csp_program *program,
                                                      const struct csp_counters *counters,
                                                      bool compat)
{
    struct measure measure = {.program = program,
                              .wanted.flags = csp_calloc(program->functions.functions.len + 1, 1)};
    want_counted(&measure, counters, compat);
    return measure_wanted(&measure);
}

struct csp_inline_sizes *csp_inline_sizes_of_profile(struct csp_program *program,
                                                     const struct csp_profile *profile)
{
    struct measure measure = {.program = program,
                              .wanted.flags = csp_calloc(program->functions.functions.len + 1, 1)};
    csp_profile_names(profile, want_named, &measure);
    return measure_wanted(&measure);
}
