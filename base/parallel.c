#include "base/parallel.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct worker {
    void (*work)(void *user, unsigned worker);
    void *user;
    unsigned number;
    bool started;
    pthread_t thread;
};

static void *run(void *argument)
{
    const struct worker *worker = argument;
    worker->work(worker->user, worker->number);
    return NULL;
}

void csp_parallel(unsigned workers, void (*work)(void *user, unsigned worker), void *user)
{
    struct worker *list = csp_calloc(workers, sizeof *list);
    for (unsigned i = 1; i < workers; i++) {
        list[i] = (struct worker){.work = work, .user = user, .number = i};
        list[i].started = !pthread_create(&list[i].thread, NULL, run, &list[i]);
    }
    work(user, 0);
    for (unsigned i = 1; i < workers; i++) {
        if (list[i].started)
            pthread_join(list[i].thread, NULL);
        else
            work(user, i);
    }
    free(list);
}

unsigned csp_parallel_worth(unsigned most, uint64_t work, uint64_t each)
{
    uint64_t more = work / each;
    if (!most)
        return 1;
    return more < most ? (unsigned)more + 1 : most;
}
