/* Messages that are passed on and also kept, to be told again when their cause is not repeated: by
 * a result that is found in a cache. */
#ifndef CSP_BASE_MESSAGES_H
#define CSP_BASE_MESSAGES_H

#include "base/buf.h"
#include "base/diag.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct csp_messages {
    struct csp_diag diag;  /* to be given instead of … */
    struct csp_diag *then; /* … this one */
    pthread_mutex_t lock;
    struct csp_buf kept; /* of each: severity (1 byte), text, NUL */
};

void csp_messages_begin(struct csp_messages *messages, struct csp_diag *then);
void csp_messages_free(struct csp_messages *messages);
/* Tells what was kept; false, telling nothing, when these bytes are not that. */
bool csp_messages_again(const void *kept, size_t size, struct csp_diag *diag);

#endif
