#include "profgen/context_nodes.h"

#include "base/alloc.h"

#include <string.h>

/* What is of the context at hand. */
static void begin_own(struct csp_context_nodes *nodes)
{
    size_t known_size = (nodes->program->probes.nodes.len + 1) * sizeof *nodes->known;
    nodes->known = csp_malloc(known_size);
    memset(nodes->known, 0xff, known_size);
    nodes->on_path = csp_calloc(nodes->counters->frames.list.len + 1, sizeof *nodes->on_path);
    nodes->on_path[0] = 1; /* no frame: every path begins there */
}

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
    nodes->functions = csp_malloc((probes->probes.len + 1) * sizeof *nodes->functions);
    for (size_t i = 0; i < probes->probes.len; i++)
        nodes->functions[i] = csp_functions_at(&program->functions, probes->probes.data[i].address);
    begin_own(nodes);
}

void csp_context_nodes_beside(struct csp_context_nodes *nodes,
                              const struct csp_context_nodes *first, struct csp_context_tree *tree)
{
    *nodes = (struct csp_context_nodes){.program = first->program,
                                        .counters = first->counters,
                                        .options = first->options,
                                        .tree = tree,
                                        .functions = first->functions,
                                        .shared = true};
    if (first->missing)
        nodes->missing = csp_missing_frames_beside(first->missing);
    begin_own(nodes);
}

/* Leaves the frames of the path behind `frame`, which is on it. */
static void leave_frames(struct csp_context_nodes *nodes, uint32_t frame)
{
    size_t len = nodes->path_frames.len;
    for (; len && nodes->path_frames.data[len - 1] != frame; len--)
        nodes->on_path[nodes->path_frames.data[len - 1]] = 0;
    nodes->path_frames.len = nodes->path.len = len;
}

/* Keeps what is known of the calls that the context has in common with the one before. */
void csp_context_nodes_enter(struct csp_context_nodes *nodes, uint32_t context)
{
    const struct csp_pair *frames = nodes->counters->frames.list.data;
    uint32_t frame = nodes->counters->contexts.data[context];
    nodes->context = context;
    nodes->inferred = nodes->cut = nodes->callers_known = false;
    nodes->pending.len = 0;
    for (; !nodes->on_path[frame]; frame = (uint32_t)frames[frame - 1].first)
        csp_vec_push(&nodes->pending, frame);
    leave_frames(nodes, frame);
    if (nodes->entered.len > nodes->path.len)
        nodes->entered.len = nodes->path.len;
    while (nodes->pending.len) {
        frame = nodes->pending.data[--nodes->pending.len];
        nodes->on_path[frame] = 1;
        csp_vec_push(&nodes->path_frames, frame);
        csp_vec_push(&nodes->path, frames[frame - 1].second);
    }
}

static uint32_t call_probe(struct csp_context_nodes *nodes, uint64_t call)
{
    uint32_t id = csp_numbers_at(&nodes->calls, call);
    if (id == nodes->call_probes.len)
        csp_vec_push(&nodes->call_probes, csp_probes_call_at(&nodes->program->probes, call));
    return nodes->call_probes.data[id];
}

/* Appends the functions that an inline node is inlined into, outermost first, and itself. The
 * callsite of the last is `leaf_callsite`. A callsite that is not known hides all above it: `first`
 * is then the frame below. */
static void add_inline_frames(struct csp_context_nodes *nodes, uint32_t node,
                              uint32_t leaf_callsite, uint32_t *first)
{
    const struct csp_probes *probes = &nodes->program->probes;
    size_t depth = 0;
    for (uint32_t up = node; up != CSP_NO_NODE; up = probes->nodes.data[up].parent)
        depth++;
    csp_vec_reserve(&nodes->frames, depth);
    nodes->frames.len += depth;
    size_t at = nodes->frames.len;
    uint32_t callsite = leaf_callsite;
    bool hidden = false;
    for (uint32_t up = node; up != CSP_NO_NODE; up = probes->nodes.data[up].parent) {
        const struct csp_probe_node *inlined = &probes->nodes.data[up];
        if (up != node && !callsite && !hidden) {
            hidden = true;
            *first = (uint32_t)at;
        }
        nodes->frames.data[--at] =
            (struct csp_frame){probes->functions.data[inlined->function].name, callsite};
        callsite = inlined->callsite;
    }
}

/* Adds the frames of a call. The inliner cannot use a context beyond a call it does not know. */
static void enter_call(struct csp_context_nodes *nodes, uint64_t call,
                       struct csp_entered_calls *entered)
{
    uint32_t id = call_probe(nodes, call);
    if (id == CSP_NO_PROBE) {
        entered->first = (uint32_t)nodes->frames.len;
        entered->cut = csp_program_has_probes(nodes->program, call);
    } else {
        const struct csp_probe *probe = &nodes->program->probes.probes.data[id];
        add_inline_frames(nodes, probe->node, probe->index, &entered->first);
    }
    entered->end = (uint32_t)nodes->frames.len;
}

/* Adds the frames of the tail calls that are missing between a call and the next frame. */
static void enter_missing(struct csp_context_nodes *nodes, uint64_t call, uint64_t next,
                          struct csp_entered_calls *entered)
{
    size_t count = 0;
    if (!nodes->missing)
        return;
    csp_missing_frames_between(nodes->missing, call, next, &count);
    entered->inferred |= count != 0;
    for (size_t i = 0; i < count; i++)
        enter_call(nodes, csp_missing_frames_between(nodes->missing, call, next, &count)[i],
                   entered);
}

static struct csp_entered_calls enter_path(struct csp_context_nodes *nodes)
{
    struct csp_entered_calls entered = {0};
    const csp_calls *path = &nodes->path;
    if (nodes->entered.len)
        entered = nodes->entered.data[nodes->entered.len - 1];
    nodes->frames.len = entered.end;
    for (size_t i = nodes->entered.len; i < path->len; i++) {
        if (i)
            enter_missing(nodes, path->data[i - 1], path->data[i], &entered);
        enter_call(nodes, path->data[i], &entered);
        csp_vec_push(&nodes->entered, entered);
    }
    return entered;
}

/* Makes `frames` end in those of the callers of a function at `leaf`, in the context at hand. */
static void enter_callers(struct csp_context_nodes *nodes, uint32_t function, uint64_t leaf)
{
    if (!nodes->callers_known || nodes->callers_of != function) {
        nodes->callers = enter_path(nodes);
        if (nodes->path.len)
            enter_missing(nodes, nodes->path.data[nodes->path.len - 1], leaf, &nodes->callers);
        nodes->inferred |= nodes->callers.inferred;
        nodes->cut |= nodes->callers.cut;
        nodes->callers_known = true;
        nodes->callers_of = function;
    }
    nodes->frames.len = nodes->callers.end;
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

/* Takes recursion out of frames; they are as they were when there is none. */
static struct csp_frame *compress(struct csp_context_nodes *nodes, struct csp_frame *frames,
                                  size_t *count)
{
    if (!csp_repeats_any(&nodes->repeats, (const uint64_t *)(const void *)frames, *count))
        return frames;
    nodes->compressed.len = 0;
    csp_vec_reserve(&nodes->compressed, *count);
    memcpy(nodes->compressed.data, frames, *count * sizeof *frames);
    *count = csp_recursion_compress_frames(nodes->compressed.data, *count,
                                           nodes->options->compress_recursion);
    return nodes->compressed.data;
}

/* The node at the end of all frames from `first` on, the last of which is the inline node's. */
static uint32_t make_node(struct csp_context_nodes *nodes, uint32_t first, uint32_t inline_node)
{
    struct csp_context_tree *tree = nodes->tree;
    struct csp_frame *frames = nodes->frames.data + first;
    size_t count = nodes->frames.len - first - 1;
    struct csp_frame leaf = frames[count];
    frames = compress(nodes, frames, &count);
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
    uint32_t first = nodes->callers.first;
    add_inline_frames(nodes, probe->node, 0, &first);
    *known =
        (struct csp_known_node){nodes->context, function, make_node(nodes, first, probe->node)};
    return known->node;
}

void csp_context_nodes_free(struct csp_context_nodes *nodes)
{
    csp_missing_frames_destroy(nodes->missing);
    free(nodes->known);
    if (!nodes->shared)
        free(nodes->functions);
    csp_numbers_free(&nodes->calls);
    csp_vec_free(&nodes->call_probes);
    csp_vec_free(&nodes->path);
    csp_vec_free(&nodes->path_frames);
    csp_vec_free(&nodes->pending);
    free(nodes->on_path);
    csp_vec_free(&nodes->entered);
    csp_vec_free(&nodes->frames);
    csp_vec_free(&nodes->compressed);
    csp_repeats_free(&nodes->repeats);
    csp_vec_free(&nodes->last);
    csp_vec_free(&nodes->last_nodes);
}
