/* What threads give to another one, which waits for it: bytes, in their order. */
#ifndef CSP_BASE_INBOX_H
#define CSP_BASE_INBOX_H

#include "base/buf.h"

#include <pthread.h>
#include <stdbool.h>

struct csp_inbox {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct csp_buf given;
    bool closed;
};

void csp_inbox_init(struct csp_inbox *inbox);
void csp_inbox_free(struct csp_inbox *inbox);

void csp_inbox_give(struct csp_inbox *inbox, const void *data, size_t size);
/* No more will be given. */
void csp_inbox_close(struct csp_inbox *inbox);
bool csp_inbox_is_closed(struct csp_inbox *inbox);
/* Moves what was given behind what was taken, once there is anything; false: nothing is left, and
 * no more will come. */
bool csp_inbox_take(struct csp_inbox *inbox, struct csp_buf *taken);

#endif
