#include "profgen/context_settle.h"

#include "base/alloc.h"

#include <pthread.h>

/* The lists are copies: nodes may be moved in memory meanwhile. */
struct settled {
    uint32_t node;
    struct csp_context_list lists[CSP_LISTS];
};

typedef CSP_VEC(struct settled) settled_list;

struct csp_context_settler {
    struct csp_context_tree *tree;
    struct csp_context_sums sums;
    settled_list taken; /* by the thread; so many of them are settled */
    size_t done;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t more;
    settled_list given;
    bool ended;
};

/* Moves what was given behind what was taken; false: it is the end. */
static bool take(struct csp_context_settler *settler)
{
    pthread_mutex_lock(&settler->lock);
    while (!settler->ended && !settler->given.len)
        pthread_cond_wait(&settler->more, &settler->lock);
    bool ended = settler->ended;
    for (size_t i = 0; i < settler->given.len; i++)
        csp_vec_push(&settler->taken, settler->given.data[i]);
    settler->given.len = 0;
    pthread_mutex_unlock(&settler->lock);
    return !ended;
}

static bool has_ended(struct csp_context_settler *settler)
{
    pthread_mutex_lock(&settler->lock);
    bool ended = settler->ended;
    pthread_mutex_unlock(&settler->lock);
    return ended;
}

static void *run(void *user)
{
    struct csp_context_settler *settler = user;
    while (take(settler))
        for (; settler->done < settler->taken.len && !has_ended(settler); settler->done++)
            csp_context_settle_lists(settler->tree, settler->taken.data[settler->done].lists,
                                     &settler->sums);
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
    pthread_mutex_init(&settler->lock, NULL);
    pthread_cond_init(&settler->more, NULL);
    if (!pthread_create(&settler->thread, NULL, run, settler))
        return settler;
    pthread_cond_destroy(&settler->more);
    pthread_mutex_destroy(&settler->lock);
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
    pthread_mutex_lock(&settler->lock);
    csp_vec_push(&settler->given, given);
    pthread_cond_signal(&settler->more);
    pthread_mutex_unlock(&settler->lock);
}

void csp_context_settler_end(struct csp_context_settler *settler)
{
    if (!settler)
        return;
    pthread_mutex_lock(&settler->lock);
    settler->ended = true;
    pthread_cond_signal(&settler->more);
    pthread_mutex_unlock(&settler->lock);
    pthread_join(settler->thread, NULL);
    for (size_t i = 0; i < settler->done; i++)
        for (int kind = 0; kind < CSP_LISTS; kind++)
            settler->tree->nodes.data[settler->taken.data[i].node].lists[kind] =
                settler->taken.data[i].lists[kind];
    pthread_cond_destroy(&settler->more);
    pthread_mutex_destroy(&settler->lock);
    csp_context_sums_free(&settler->sums);
    csp_vec_free(&settler->taken);
    csp_vec_free(&settler->given);
    free(settler);
}
