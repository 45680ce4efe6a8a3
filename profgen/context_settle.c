#include "profgen/context_settle.h"

#include "base/alloc.h"
#include "base/inbox.h"

#include <pthread.h>

/* The lists are copies: nodes may be moved in memory meanwhile. */
struct settled {
    uint32_t node;
    struct csp_context_list lists[CSP_LISTS];
};

struct csp_context_settler {
    struct csp_context_tree *tree;
    struct csp_context_sums sums;
    struct csp_buf taken; /* struct settled, by the thread; so many of them are settled */
    size_t done;
    pthread_t thread;
    struct csp_inbox given; /* struct settled */
};

static struct settled *taken(const struct csp_context_settler *settler)
{
    return (struct settled *)(void *)settler->taken.data;
}

static void *run(void *user)
{
    struct csp_context_settler *settler = user;
    while (csp_inbox_take(&settler->given, &settler->taken)) {
        size_t count = settler->taken.len / sizeof(struct settled);
        for (; settler->done < count && !csp_inbox_is_closed(&settler->given); settler->done++)
            csp_context_settle_lists(settler->tree, taken(settler)[settler->done].lists,
                                     &settler->sums);
    }
    return NULL;
}

/* So many that no hanging moves them: each list becomes pieces once. */
static void reserve_pieces(struct csp_context_tree *tree)
{
    size_t lists = 0;
    for (size_t i = 0; i < tree->nodes.len; i++)
        for (int kind = 0; kind < CSP_LISTS; kind++)
            lists += tree->nodes.data[i].lists[kind].first != 0;
    csp_vec_reserve(&tree->pieces, lists);
}

struct csp_context_settler *csp_context_settler_begin(struct csp_context_tree *tree)
{
    struct csp_context_settler *settler = csp_calloc(1, sizeof *settler);
    settler->tree = tree;
    reserve_pieces(tree);
    csp_inbox_init(&settler->given);
    if (!pthread_create(&settler->thread, NULL, run, settler))
        return settler;
    csp_inbox_free(&settler->given);
    free(settler);
    return NULL;
}

void csp_context_settle(struct csp_context_settler *settler, uint32_t node)
{
    if (!settler)
        return;
    struct settled given = {.node = node};
    for (int kind = 0; kind < CSP_LISTS; kind++)
        given.lists[kind] = settler->tree->nodes.data[node].lists[kind];
    csp_inbox_give(&settler->given, &given, sizeof given);
}

void csp_context_settler_end(struct csp_context_settler *settler)
{
    if (!settler)
        return;
    csp_inbox_close(&settler->given);
    pthread_join(settler->thread, NULL);
    for (size_t i = 0; i < settler->done; i++)
        for (int kind = 0; kind < CSP_LISTS; kind++)
            settler->tree->nodes.data[taken(settler)[i].node].lists[kind] =
                taken(settler)[i].lists[kind];
    csp_context_sums_free(&settler->sums);
    csp_buf_free(&settler->taken);
    csp_inbox_free(&settler->given);
    free(settler);
}
