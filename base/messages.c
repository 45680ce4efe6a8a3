#include "base/messages.h"

#include <string.h>

static void tell(struct csp_diag *diag, enum csp_severity severity, const char *text)
{
    switch (severity) {
    case CSP_DEBUG:
        csp_debug(diag, "%s", text);
        break;
    case CSP_NOTE:
        csp_note(diag, "%s", text);
        break;
    case CSP_WARNING:
        csp_warn(diag, "%s", text);
        break;
    case CSP_FAILURE:
        csp_fail(diag, CSP_ERR_FAILED, "%s", text);
        break;
    }
}

static void keep(void *user, enum csp_severity severity, const char *text)
{
    struct csp_messages *messages = user;
    pthread_mutex_lock(&messages->lock);
    csp_buf_add_char(&messages->kept, (char)severity);
    csp_buf_add(&messages->kept, text, strlen(text) + 1);
    pthread_mutex_unlock(&messages->lock);
    tell(messages->then, severity, text);
}

void csp_messages_begin(struct csp_messages *messages, struct csp_diag *then)
{
    *messages = (struct csp_messages){.diag = {.emit = keep, .user = messages}, .then = then};
    pthread_mutex_init(&messages->lock, NULL);
}

void csp_messages_free(struct csp_messages *messages)
{
    pthread_mutex_destroy(&messages->lock);
    csp_buf_free(&messages->kept);
}

static bool are_messages(const char *kept, size_t size)
{
    if (size && kept[size - 1] != '\0')
        return false;
    for (size_t at = 0; at < size; at += strlen(kept + at + 1) + 2)
        if ((unsigned char)kept[at] > CSP_FAILURE || at + 1 == size)
            return false;
    return true;
}

bool csp_messages_again(const void *data, size_t size, struct csp_diag *diag)
{
    const char *kept = data;
    if (!are_messages(kept, size))
        return false;
    for (size_t at = 0; at < size; at += strlen(kept + at + 1) + 2)
        tell(diag, (enum csp_severity)kept[at], kept + at + 1);
    return true;
}
