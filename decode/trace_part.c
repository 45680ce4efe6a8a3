#include "decode/trace_part.h"

#include <pthread.h>

/* What a large chunk needs, others do not. */
enum { ROOM_MAX = 1 << 18 };

/* The most that a list has had: what a new one had better have room for. */
struct room {
    size_t windows, runs, branches;
};

/* Parts that nobody has any more: their memory is there, and is used again. Lives as long as any of
 * its parts is held. */
struct csp_part_pool {
    pthread_mutex_t lock; /* of what follows */
    struct csp_part *free;
    size_t holders;
    struct room room;
};

static void free_part(struct csp_part *part)
{
    for (size_t i = 0; i < part->list_count; i++)
        csp_windows_free(&part->base.lists[i]);
    free(part->base.lists);
    csp_vec_free(&part->base.done);
    csp_buf_free(&part->base.text);
    free(part);
}

/* Gives up one hold on the pool, and on `part` where there is one. */
void csp_part_pool_leave(struct csp_part_pool *pool, struct csp_part *part)
{
    pthread_mutex_lock(&pool->lock);
    if (part) {
        part->next = pool->free;
        pool->free = part;
    }
    bool last = !--pool->holders;
    pthread_mutex_unlock(&pool->lock);
    if (!last)
        return;
    while ((part = pool->free)) {
        pool->free = part->next;
        free_part(part);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct csp_part_pool *csp_part_pool_create(void)
{
    struct csp_part_pool *pool = csp_calloc(1, sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pool->holders = 1;
    return pool;
}

static void make_room(struct csp_windows *list, const struct room *room)
{
    csp_vec_reserve(&list->windows, room->windows);
    csp_vec_reserve(&list->runs, room->runs);
    csp_vec_reserve(&list->branches, room->branches);
}

static void note_most(size_t *most, size_t count)
{
    if (count > ROOM_MAX)
        count = ROOM_MAX;
    if (count > *most)
        *most = count;
}

/* An empty part with at least so many lists. */
struct csp_part *csp_part_get(struct csp_part_pool *pool, size_t list_count)
{
    pthread_mutex_lock(&pool->lock);
    struct csp_part *part = pool->free;
    if (part)
        pool->free = part->next;
    pool->holders++;
    struct room room = pool->room;
    pthread_mutex_unlock(&pool->lock);
    if (part && part->list_count < list_count) {
        free_part(part);
        part = NULL;
    }
    if (!part) {
        part = csp_calloc(1, sizeof *part);
        part->pool = pool;
        part->list_count = list_count;
        part->base.lists = csp_calloc(list_count, sizeof *part->base.lists);
        if (list_count)
            make_room(&part->base.lists[0], &room);
    }
    part->holders = 1;
    for (size_t i = 0; i < part->list_count; i++) {
        struct csp_windows *list = &part->base.lists[i];
        list->windows.len = list->runs.len = list->branches.len = 0;
    }
    part->base.done.len = 0;
    part->base.text.len = 0;
    part->stats = (struct csp_trace_stats){0};
    part->last_of_stream = false;
    part->error = 0;
    return part;
}

void csp_part_note_size(const struct csp_part *part)
{
    if (!part->list_count)
        return;
    const struct csp_windows *list = &part->base.lists[0];
    struct room *room = &part->pool->room;
    pthread_mutex_lock(&part->pool->lock);
    note_most(&room->windows, list->windows.len);
    note_most(&room->runs, list->runs.len);
    note_most(&room->branches, list->branches.len);
    pthread_mutex_unlock(&part->pool->lock);
}

void csp_trace_part_keep(struct csp_trace_part *part)
{
    __atomic_fetch_add(&((struct csp_part *)part)->holders, 1, __ATOMIC_RELAXED);
}

void csp_trace_part_release(struct csp_trace_part *base)
{
    struct csp_part *part = (struct csp_part *)base;
    if (!__atomic_sub_fetch(&part->holders, 1, __ATOMIC_ACQ_REL))
        csp_part_pool_leave(part->pool, part);
}

struct csp_windows csp_trace_part_windows(const struct csp_trace_part *part,
                                          const struct csp_windows_done *done)
{
    struct csp_windows windows = part->lists[done->list];
    windows.windows.data += done->first;
    windows.windows.len = done->count;
    return windows;
}
