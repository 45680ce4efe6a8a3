#include "base/inbox.h"

void csp_inbox_init(struct csp_inbox *inbox)
{
    *inbox = (struct csp_inbox){.closed = false};
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_cond_init(&inbox->changed, NULL);
}

void csp_inbox_free(struct csp_inbox *inbox)
{
    csp_buf_free(&inbox->given);
    pthread_cond_destroy(&inbox->changed);
    pthread_mutex_destroy(&inbox->lock);
}

void csp_inbox_give(struct csp_inbox *inbox, const void *data, size_t size)
{
    pthread_mutex_lock(&inbox->lock);
    csp_buf_add(&inbox->given, data, size);
    pthread_cond_signal(&inbox->changed);
    pthread_mutex_unlock(&inbox->lock);
}

void csp_inbox_close(struct csp_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->closed = true;
    pthread_cond_signal(&inbox->changed);
    pthread_mutex_unlock(&inbox->lock);
}

bool csp_inbox_is_closed(struct csp_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    bool closed = inbox->closed;
    pthread_mutex_unlock(&inbox->lock);
    return closed;
}

bool csp_inbox_take(struct csp_inbox *inbox, struct csp_buf *taken)
{
    pthread_mutex_lock(&inbox->lock);
    while (!inbox->given.len && !inbox->closed)
        pthread_cond_wait(&inbox->changed, &inbox->lock);
    bool any = inbox->given.len;
    if (any)
        csp_buf_add(taken, inbox->given.data, inbox->given.len);
    inbox->given.len = 0;
    pthread_mutex_unlock(&inbox->lock);
    return any;
}
