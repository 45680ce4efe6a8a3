#include "profgen/context_nodes.h"

#include "base/alloc.h"

#include <string.h>

void csp_context_nodes_begin(struct csp_context_nodes *nodes, struct csp_program *program,
                             const struct csp_counters *counters,
                             const struct csp_generate_options *options,
                             struct csp_context_tree *tree)
{
    const struct csp_probes *probes = &program->probes;
    *nodes = (struct csp_context_nodes){
        .program = program, .counters = counters, .options = options, .tree = tree};
    if (options->infer_missing_frames)
        nodes->missing = csp_missing_frames_create(program, counters, options->max_search_depth);
    nodes->known = csp_malloc((probes->nodes.len + 1) * sizeof *nodes->known);
    memset(nodes->known, 0xff, (probes->nodes.len + 1) * sizeof *nodes->known);
    nodes->functions = csp_malloc((probes->probes.len + 1) * sizeof *nodes->functions);
    for (size_t i = 0; i < probes->probes.len; i++)
        nodes->functions[i] = csp_functions_at(&program->functions, probes->probes.data[i].address);
}

void csp_context_nodes_enter(struct csp_context_nodes *nodes, uint32_t context)
{
    nodes->context = context;
    nodes->inferred = nodes->cut = nodes->callers_known = false;
}

static uint32_t call_probe(struct csp_context_nodes *nodes, uint64_t call)
{
    uint32_t id = csp_numbers_at(&nodes->calls, call);
    if (id == nodes->call_probes.len)
        csp_vec_push(&nodes->call_probes, csp_probes_call_at(&nodes->program->probes, call));
    return nodes->call_probes.data[id];
}

/* Appends the functions that an inline node is inlined into, outermost first, and itself. The
 * callsite of the last is `leaf_callsite`. A callsite that is not known hides all above it. */
static void add_inline_frames(struct csp_context_nodes *nodes, uint32_t node,
                              uint32_t leaf_callsite)
{
    const struct csp_probes *probes = &nodes->program->probes;
    size_t depth = 0;
    for (uint32_t up = node; up != CSP_NO_NODE; up = probes->nodes.data[up].parent)
        depth++;
    csp_vec_reserve(&nodes->frames, depth);
    size_t base = nodes->frames.len, at = base + depth;
    uint32_t callsite = leaf_callsite;
    size_t first = base;
    bool hidden = false;
    for (uint32_t up = node; up != CSP_NO_NODE; up = probes->nodes.data[up].parent) {
        const struct csp_probe_node *inlined = &probes->nodes.data[up];
        nodes->frames.data[--at] =
            (struct csp_frame){probes->functions.data[inlined->function].name, callsite};
        if (up != node && !callsite && !hidden) {
            hidden = true;
            first = at + 1;
        }
        callsite = inlined->callsite;
    }
    nodes->frames.len = base + depth;
    if (!hidden)
        return;
    size_t kept = 0;
    for (size_t i = first; i < nodes->frames.len; i++)
        nodes->frames.data[kept++] = nodes->frames.data[i];
    nodes->frames.len = kept;
}

/* The calls of the context at hand, with tail calls put back; the leaf address itself left out. */
static const uint64_t *complete_calls(struct csp_context_nodes *nodes, uint64_t leaf, size_t *count)
{
    csp_counters_calls(nodes->counters, nodes->context, &nodes->path);
    *count = nodes->path.len;
    if (!nodes->missing || !*count)
        return nodes->path.data;
    csp_vec_push(&nodes->path, leaf);
    size_t completed;
    const uint64_t *calls =
        csp_missing_frames_infer(nodes->missing, nodes->path.data, nodes->path.len, &completed);
    nodes->inferred |= completed > *count + 1;
    *count = completed - 1;
    return calls;
}

/* The callers, outermost first. The inliner cannot use a context beyond a call it does not know. */
static void add_caller_frames(struct csp_context_nodes *nodes, const uint64_t *calls, size_t count)
{
    size_t first = count;
    while (first && call_probe(nodes, calls[first - 1]) != CSP_NO_PROBE)
        first--;
    nodes->cut |= first && csp_program_has_probes(nodes->program, calls[first - 1]);
    for (size_t i = first; i < count; i++) {
        const struct csp_probe *probe =
            &nodes->program->probes.probes.data[call_probe(nodes, calls[i])];
        add_inline_frames(nodes, probe->node, probe->index);
    }
}

static void copy_frames(csp_frame_list *to, const csp_frame_list *from)
{
    to->len = 0;
    csp_vec_reserve(to, from->len);
    if (from->len)
        memcpy(to->data, from->data, from->len * sizeof *from->data);
    to->len = from->len;
}

/* Makes `frames` those of the callers of a function at `leaf`, in the context at hand. */
static void enter_callers(struct csp_context_nodes *nodes, uint32_t function, uint64_t leaf)
{
    if (nodes->callers_known && nodes->callers_of == function) {
        copy_frames(&nodes->frames, &nodes->callers);
        return;
    }
    size_t count;
    const uint64_t *calls = complete_calls(nodes, leaf, &count);
    nodes->frames.len = 0;
    add_caller_frames(nodes, calls, count);
    copy_frames(&nodes->callers, &nodes->frames);
    nodes->callers_known = true;
    nodes->callers_of = function;
}

static size_t same_frames(const struct csp_context_nodes *nodes, const struct csp_frame *frames,
                          size_t count)
{
    const struct csp_frame *last = nodes->last.data;
    size_t most = count < nodes->last.len ? count : nodes->last.len, same = 0;
    while (same < most && last[same].name == frames[same].name &&
           last[same].callsite == frames[same].callsite)
        same++;
    return same;
}

/* The node of a function called in the last of the frames. */
static uint32_t walk_frames(struct csp_context_nodes *nodes, const struct csp_frame *frames,
                            size_t count, uint32_t name)
{
    size_t same = same_frames(nodes, frames, count);
    uint32_t node = same ? nodes->last_nodes.data[same - 1] : CSP_PROFILE_TOP;
    uint32_t callsite = same ? frames[same - 1].callsite : 0;
    nodes->last.len = nodes->last_nodes.len = same;
    for (size_t i = same; i < count; i++) {
        node = csp_context_child(nodes->tree, node, callsite, 0, frames[i].name);
        callsite = frames[i].callsite;
        csp_vec_push(&nodes->last, frames[i]);
        csp_vec_push(&nodes->last_nodes, node);
    }
    return csp_context_child(nodes->tree, node, callsite, 0, name);
}

/* The node at the end of all frames, the last of which is the inline node's own. */
static uint32_t make_node(struct csp_context_nodes *nodes, uint32_t inline_node)
{
    struct csp_context_tree *tree = nodes->tree;
    struct csp_frame *frames = nodes->frames.data;
    size_t count = nodes->frames.len - 1;
    struct csp_frame leaf = frames[count];
    count = csp_recursion_compress_frames(frames, count, nodes->options->compress_recursion);
    int most = nodes->options->max_context_depth;
    if (most >= 0 && count > (size_t)most) {
        frames += count - (size_t)most;
        count = (size_t)most;
    }
    uint32_t node = walk_frames(nodes, frames, count, leaf.name);
    const struct csp_probes *probes = &nodes->program->probes;
    const struct csp_probe_node *inlined = &probes->nodes.data[inline_node];
    tree->nodes.data[node].counted = true;
    tree->nodes.data[node].hash = probes->functions.data[inlined->function].hash;
    if (inlined->parent != CSP_NO_NODE)
        tree->nodes.data[node].attributes |= CSP_PROFILE_WAS_INLINED;
    return node;
}

uint32_t csp_context_nodes_of(struct csp_context_nodes *nodes, uint32_t id)
{
    const struct csp_probe *probe = &nodes->program->probes.probes.data[id];
    uint32_t function = nodes->functions[id];
    struct csp_known_node *known = &nodes->known[probe->node];
    if (known->context == nodes->context && known->function == function)
        return known->node;
    enter_callers(nodes, function, probe->address);
    add_inline_frames(nodes, probe->node, 0);
    *known = (struct csp_known_node){nodes->context, function, make_node(nodes, probe->node)};
    return known->node;
}

void csp_context_nodes_free(struct csp_context_nodes *nodes)
{
    csp_missing_frames_destroy(nodes->missing);
    free(nodes->known);
    free(nodes->functions);
    csp_numbers_free(&nodes->calls);
    csp_vec_free(&nodes->call_probes);
    csp_vec_free(&nodes->path);
    csp_vec_free(&nodes->callers);
    csp_vec_free(&nodes->frames);
    csp_vec_free(&nodes->last);
    csp_vec_free(&nodes->last_nodes);
}
