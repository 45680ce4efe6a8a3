#include "base/unfinished.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 64 };

static _Atomic(const char *) unfinished[MOST];
static const int endings[] = {SIGINT, SIGTERM, SIGHUP};

/* The signal ends the program as it would have without us, when this returns. */
static void remove_all(int number)
{
    for (int i = 0; i < MOST; i++) {
        const char *path = atomic_load(&unfinished[i]);
        if (path)
            unlink(path);
    }
    raise(number);
}

static void watch(void)
{
    const struct sigaction action = {.sa_handler = remove_all, .sa_flags = (int)SA_RESETHAND};
    struct sigaction present;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (sigaction(endings[i], NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            sigaction(endings[i], &action, NULL);
}

static void add(const char *path)
{
    for (int i = 0; i < MOST; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&unfinished[i], &none, path))
            return;
    }
}

/* No signal comes between the file and the note of it. */
int csp_unfinished_make(char *path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t held, before;
    pthread_once(&once, watch);
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        sigaddset(&held, endings[i]);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    int fd = mkstemp(path);
    if (fd >= 0)
        add(path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fd;
}

void csp_unfinished_forget(const char *path)
{
    for (int i = 0; i < MOST; i++) {
        const char *it = path;
        if (atomic_compare_exchange_strong(&unfinished[i], &it, NULL))
            return;
    }
}
