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

struct tasks {
    void (*work)(void *user, unsigned task);
    void *user;
    unsigned count, taken;
};

static void run_tasks(void *user, unsigned worker)
{
    (void)worker;
    struct tasks *tasks = user;
    unsigned task;
    while ((task = __atomic_fetch_add(&tasks->taken, 1, __ATOMIC_RELAXED)) < tasks->count)
        tasks->work(tasks->user, task);
}

void csp_parallel_tasks(unsigned threads, unsigned tasks, void (*work)(void *user, unsigned task),
                        void *user)
{
    struct tasks list = {.work = work, .user = user, .count = tasks};
    unsigned workers = threads < tasks ? threads : tasks;
    csp_parallel(workers ? workers : 1, run_tasks, &list);
}

unsigned csp_parallel_worth(unsigned most, uint64_t work, uint64_t each)
{
    uint64_t more = work / each;
    if (!most)
        return 1;
    return more < most ? (unsigned)more + 1 : most;
}
