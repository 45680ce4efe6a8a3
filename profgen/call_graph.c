#include "profgen/call_graph.h"

#include "base/alloc.h"
#include "base/saturate.h"
#include "profgen/llvm/call_order.h"

struct csp_call_graph {
    struct csp_context_tree *tree;
    uint64_t *calls;         /* by node: how often its parent calls it */
    uint32_t *numbers;       /* by name: among the functions + 1 */
    CSP_VEC(uint32_t) names; /* of the functions */
    struct csp_pairs pairs;  /* caller, callee: numbers of functions */
    CSP_VEC(uint64_t) weights;
};

static void count_calls(struct csp_call_graph *graph)
{
    struct csp_context_tree *tree = graph->tree;
    for (uint32_t i = 0; i < tree->nodes.len; i++) {
        const struct csp_context_node *node = &tree->nodes.data[i];
        if (!node->child || !node->counted)
            continue;
        for (struct csp_context_walk walk =
                 csp_context_walk_begin(tree, &node->lists[CSP_LIST_CALLS]);
             walk.at; csp_context_walk_step(tree, &walk)) {
            const struct csp_context_count *count = &tree->counts.data[walk.at - 1];
            uint32_t callee = csp_context_find(tree, i, count->place);
            if (callee != CSP_PROFILE_TOP)
                graph->calls[callee] = csp_add_saturating(graph->calls[callee], count->count);
        }
    }
}

static uint32_t function_of(struct csp_call_graph *graph, uint32_t node)
{
    uint32_t name = csp_context_name(graph->tree, node);
    if (!graph->numbers[name]) {
        csp_vec_push(&graph->names, name);
        graph->numbers[name] = (uint32_t)graph->names.len;
    }
    return graph->numbers[name] - 1;
}

static void add_edge(struct csp_call_graph *graph, uint32_t node)
{
    struct csp_context_tree *tree = graph->tree;
    uint32_t parent = tree->nodes.data[node].parent, callee = function_of(graph, node);
    if (parent == CSP_PROFILE_TOP)
        return;
    uint64_t weight = 0;
    if (tree->nodes.data[node].counted && tree->nodes.data[parent].counted) {
        weight = csp_context_entries(tree, node);
        if (weight < graph->calls[node])
            weight = graph->calls[node];
    }
    uint32_t id = csp_pairs_at(&graph->pairs, function_of(graph, parent), callee);
    if (id == graph->weights.len)
        csp_vec_push(&graph->weights, 0);
    graph->weights.data[id] += weight;
}

static void order(const struct csp_call_graph *graph, const struct csp_guids *guids, uint64_t cold,
                  uint32_t *functions)
{
    size_t count = graph->names.len, kept = 0;
    const char **names = csp_malloc((count + 1) * sizeof *names);
    struct csp_call *calls = csp_malloc((graph->pairs.list.len + 1) * sizeof *calls);
    for (size_t i = 0; i < count; i++)
        names[i] = csp_intern_text(guids->names, graph->names.data[i]);
    for (size_t i = 0; i < graph->pairs.list.len; i++)
        if (!cold || graph->weights.data[i] > cold)
            calls[kept++] = (struct csp_call){(uint32_t)graph->pairs.list.data[i].first,
                                              (uint32_t)graph->pairs.list.data[i].second,
                                              graph->weights.data[i]};
    csp_call_order(names, count, guids->numbers, calls, kept, functions);
    free(names);
    free(calls);
}

struct csp_call_graph *csp_call_graph_create(struct csp_context_tree *tree, size_t names)
{
    struct csp_call_graph *graph = csp_calloc(1, sizeof *graph);
    graph->tree = tree;
    graph->calls = csp_calloc(tree->nodes.len + 1, sizeof *graph->calls);
    graph->numbers = csp_calloc(names + 1, sizeof *graph->numbers);
    count_calls(graph);
    for (uint32_t i = 0; i < tree->nodes.len; i++)
        add_edge(graph, i);
    free(graph->calls);
    graph->calls = NULL;
    return graph;
}

uint32_t *csp_callers_first(const struct csp_call_graph *graph, const struct csp_guids *guids,
                            uint64_t cold, size_t *count)
{
    uint32_t *functions = csp_malloc((graph->names.len + 1) * sizeof *functions);
    order(graph, guids, cold, functions);
    *count = graph->names.len;
    for (size_t i = 0; i < *count; i++)
        functions[i] = graph->names.data[functions[i]];
    return functions;
}

void csp_call_graph_destroy(struct csp_call_graph *graph)
{
    free(graph->numbers);
    csp_vec_free(&graph->names);
    csp_pairs_free(&graph->pairs);
    csp_vec_free(&graph->weights);
    free(graph);
}
