#include "profgen/across_builds.h"

#include "base/alloc.h"
#include "base/saturate.h"
#include "profgen/llvm/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct adding {
    struct csp_context_tree *tree;
    struct csp_program *program;
    const struct csp_context_tree *other;
    const struct csp_program *of;
    uint32_t *nodes; /* of the other's: what they are in the tree, or CSP_PROFILE_TOP */
    uint8_t *seen;   /* by the other's names: 1: has counts */
    struct csp_across_stats *stats;
};

/* The checksum of a function's control flow; 0: it has no probes. */
static uint64_t checksum(const struct csp_program *program, const char *name)
{
    const uint64_t *function =
        csp_map_find(&program->probes.by_guid, csp_name_guid(name, strlen(name)));
    return function ? program->probes.functions.data[*function - 1].hash : 0;
}

static const char *name_of(const struct adding *adding, uint32_t name)
{
    return csp_intern_text(&adding->of->names, name);
}

static bool agrees(const struct adding *adding, uint32_t name)
{
    uint64_t ours = checksum(adding->program, name_of(adding, name));
    return ours && ours == checksum(adding->of, name_of(adding, name));
}

/* The same name among the tree's own. */
static uint32_t translate(const struct adding *adding, uint32_t name)
{
    return csp_intern_string(&adding->program->names, name_of(adding, name));
}

static void add_node(struct adding *adding, uint32_t number)
{
    const struct csp_context_node *node = &adding->other->nodes.data[number];
    uint32_t parent =
        node->parent == CSP_PROFILE_TOP ? CSP_PROFILE_TOP : adding->nodes[node->parent];
    bool is_cut = node->parent != CSP_PROFILE_TOP && parent == CSP_PROFILE_TOP;
    const struct csp_context_place edge = csp_context_place_at(adding->other, node->edge);
    adding->nodes[number] = CSP_PROFILE_TOP;
    if (!agrees(adding, edge.name))
        return;
    adding->stats->contexts_shortened += is_cut && node->counted;
    uint32_t child = csp_context_child(
        adding->tree, parent, parent == CSP_PROFILE_TOP ? 0 : edge.probe,
        parent == CSP_PROFILE_TOP ? 0 : edge.discriminator, translate(adding, edge.name));
    struct csp_context_node *made = &adding->tree->nodes.data[child];
    made->hash = checksum(adding->program, name_of(adding, edge.name));
    made->head = csp_add_saturating(made->head, node->head);
    made->total = csp_add_saturating(made->total, node->total);
    made->counted |= node->counted;
    made->attributes |= node->attributes;
    adding->nodes[number] = child;
}

/* Sets of zeros are of the other binary: what is in them is not what the tree's own sets have. */
static void add_zeros(struct adding *adding, uint32_t node, uint32_t set)
{
    const struct csp_probes *probes = &adding->of->probes;
    for (uint32_t id = probes->nodes.data[set].first_probe; id != CSP_NO_PROBE;
         id = probes->probes.data[id].next)
        csp_context_add(adding->tree, node, probes->probes.data[id].index,
                        probes->probes.data[id].discriminator, CSP_INTERN_NONE, 0);
}

static void add_count(struct adding *adding, uint32_t number, const struct csp_context_count *count)
{
    const struct csp_context_place place = csp_context_place_at(adding->other, count->place);
    uint32_t node = adding->nodes[number];
    bool is_probe = place.name == CSP_INTERN_NONE;
    adding->stats->counts += is_probe ? count->count : 0;
    if (node == CSP_PROFILE_TOP)
        adding->stats->counts_left_out += is_probe ? count->count : 0;
    else if (place.kind == CSP_PLACE_ZEROS)
        add_zeros(adding, node, place.probe);
    else
        csp_context_add(adding->tree, node, place.probe, place.discriminator,
                        is_probe ? place.name : translate(adding, place.name), count->count);
}

static void add_counts(struct adding *adding, uint32_t number)
{
    const struct csp_context_tree *other = adding->other;
    for (int kind = 0; kind < CSP_LISTS; kind++) {
        struct csp_context_walk walk =
            csp_context_walk_begin(other, &other->nodes.data[number].lists[kind]);
        if (walk.at)
            adding->seen[csp_context_name(other, number)] = 1;
        for (; walk.at; csp_context_walk_step(other, &walk))
            add_count(adding, number, &other->counts.data[walk.at - 1]);
    }
}

static void tell(const struct adding *adding, struct csp_diag *diag)
{
    struct csp_across_stats *stats = adding->stats;
    for (uint32_t i = 0; i < adding->of->names.entries.len; i++) {
        if (!adding->seen[i])
            continue;
        stats->functions++;
        if (agrees(adding, i))
            continue;
        stats->left_out++;
        csp_debug(diag, "%s of %s is left out: %s", name_of(adding, i), adding->of->path,
                  checksum(adding->program, name_of(adding, i)) ? "its control flow is another now"
                                                                : "it is not there any more");
    }
    csp_note(diag,
             "%s: %" PRIu64 " of %" PRIu64 " functions are left out, with %.2f%% of the counts, "
             "because their control flow is another in %s (-v names them); %" PRIu64
             " contexts are shortened",
             adding->of->path, stats->left_out, stats->functions,
             stats->counts ? 100.0 * (double)stats->counts_left_out / (double)stats->counts : 0.0,
             adding->program->path, stats->contexts_shortened);
}

void csp_tree_add_build(struct csp_context_tree *tree, struct csp_program *program,
                        const struct csp_context_tree *other, const struct csp_program *of,
                        struct csp_across_stats *stats, struct csp_diag *diag)
{
    struct adding adding = {
        .tree = tree, .program = program, .other = other, .of = of, .stats = stats};
    adding.nodes = csp_calloc(other->nodes.len + 1, sizeof *adding.nodes);
    adding.seen = csp_calloc(of->names.entries.len + 1, 1);
    for (uint32_t i = 0; i < other->nodes.len; i++)
        add_node(&adding, i);
    for (uint32_t i = 0; i < other->nodes.len; i++)
        add_counts(&adding, i);
    tell(&adding, diag);
    free(adding.nodes);
    free(adding.seen);
}
