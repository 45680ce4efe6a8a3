#include "profgen/read_contexts.h"

#include "profgen/llvm/profile_contexts.h"

struct reading {
    struct csp_context_tree *tree;
    struct csp_intern *names;
    uint32_t node; /* of the context at hand */
};

static uint32_t name_of(struct reading *reading, struct csp_profile_name name)
{
    return name.text ? csp_intern(reading->names, name.text, name.length) : CSP_INTERN_NONE;
}

static void take_context(void *user, const struct csp_profile_context *context)
{
    struct reading *reading = user;
    uint32_t node = CSP_PROFILE_TOP;
    for (size_t i = 0; i < context->path_len; i++)
        node = csp_context_child(reading->tree, node, context->path[i].callsite,
                                 context->path[i].discriminator,
                                 name_of(reading, context->path[i].function));
    reading->node = node;
    struct csp_context_node *made = &reading->tree->nodes.data[node];
    made->counted = true;
    made->hash = context->hash;
    made->head = context->head;
    made->total = context->total;
    made->attributes = context->attributes;
}

static void take_count(void *user, uint32_t probe, uint32_t discriminator,
                       struct csp_profile_name callee, uint64_t count)
{
    struct reading *reading = user;
    csp_context_add(reading->tree, reading->node, probe, discriminator, name_of(reading, callee),
                    count);
}

static void take_type(void *user, uint32_t line, uint32_t discriminator,
                      struct csp_profile_name table, uint64_t count)
{
    struct reading *reading = user;
    csp_context_add_type(reading->tree, reading->node, line, discriminator, name_of(reading, table),
                         count);
}

void csp_contexts_read(struct csp_context_tree *tree, struct csp_intern *names,
                       const struct csp_profile *profile)
{
    struct reading reading = {.tree = tree, .names = names};
    const struct csp_profile_context_reader reader = {
        .user = &reading, .context = take_context, .count = take_count, .type = take_type};
    csp_profile_contexts(profile, &reader);
}
