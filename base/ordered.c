#include "base/ordered.h"

#include "base/alloc.h"
#include "base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SLOTS_PER_THREAD = 4 };

struct csp_ordered_turns {
    const struct csp_ordered *job;
    unsigned slots;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t moved; /* `taken` has grown, or the run has failed */
    size_t started, taken;
    bool *ready; /* by slot: worked on and not taken yet */
    bool taking; /* somebody is */
    int error;
};

unsigned csp_ordered_slots(unsigned threads)
{
    return threads > 1 ? threads * SLOTS_PER_THREAD : 1;
}

/* The next item, once there is a free slot for its result; false at the end. Holds the lock. */
static bool start_next(struct csp_ordered_turns *run, size_t *item)
{
    while (!run->error && run->started < run->job->count && run->started >= run->taken + run->slots)
        pthread_cond_wait(&run->moved, &run->lock);
    if (run->error || run->started == run->job->count)
        return false;
    *item = run->started++;
    return true;
}

/* Takes what is ready, in order, unless another thread does already. Holds the lock, but not while
 * it takes. */
static void take_ready(struct csp_ordered_turns *run)
{
    if (run->taking)
        return;
    run->taking = true;
    while (!run->error && run->taken < run->job->count && run->ready[run->taken % run->slots]) {
        size_t item = run->taken;
        unsigned slot = (unsigned)(item % run->slots);
        pthread_mutex_unlock(&run->lock);
        int error = run->job->take(run->job->user, item, slot);
        pthread_mutex_lock(&run->lock);
        run->ready[slot] = false;
        run->taken++;
        if (error < 0)
            run->error = error;
        pthread_cond_broadcast(&run->moved);
    }
    run->taking = false;
}

static void work(void *user, unsigned worker)
{
    struct csp_ordered_turns *run = user;
    size_t item;
    pthread_mutex_lock(&run->lock);
    while (start_next(run, &item)) {
        unsigned slot = (unsigned)(item % run->slots);
        pthread_mutex_unlock(&run->lock);
        run->job->work(run->job->user, item, worker, slot);
        pthread_mutex_lock(&run->lock);
        run->ready[slot] = true;
        take_ready(run);
    }
    pthread_mutex_unlock(&run->lock);
}

bool csp_ordered_await_turn(struct csp_ordered_turns *run, size_t item)
{
    if (!run)
        return true;
    pthread_mutex_lock(&run->lock);
    while (!run->error && run->taken < item)
        pthread_cond_wait(&run->moved, &run->lock);
    bool turn = !run->error;
    pthread_mutex_unlock(&run->lock);
    return turn;
}

static int run_alone(const struct csp_ordered *job)
{
    int error = 0;
    for (size_t item = 0; item < job->count && error >= 0; item++) {
        job->work(job->user, item, 0, 0);
        error = job->take(job->user, item, 0);
    }
    return error < 0 ? error : 0;
}

int csp_ordered_run(const struct csp_ordered *job)
{
    if (job->threads <= 1 || job->count <= 1)
        return run_alone(job);
    struct csp_ordered_turns run = {.job = job, .slots = csp_ordered_slots(job->threads)};
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.moved, NULL);
    run.ready = csp_calloc(run.slots, sizeof *run.ready);
    if (job->turns)
        *job->turns = &run;
    csp_parallel(job->threads, work, &run);
    if (job->turns)
        *job->turns = NULL;
    free(run.ready);
    pthread_cond_destroy(&run.moved);
    pthread_mutex_destroy(&run.lock);
    return run.error;
}
