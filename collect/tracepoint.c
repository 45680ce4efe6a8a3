#include "collect/tracepoint.h"

#include "base/alloc.h"
#include "collect/host_tree.h"

#include <stdlib.h>
#include <string.h>

static const char *const places[] = {"sys/kernel/tracing", "sys/kernel/debug/tracing"};

/* "subsystem:event", of letters that make no other path of it. */
static char *folder_of(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t subsystem = strspn(name, letters);
    if (!subsystem || name[subsystem] != ':')
        return NULL;
    const char *event = name + subsystem + 1;
    if (!*event || event[strspn(event, letters)])
        return NULL;
    return csp_asprintf("%.*s/%s", (int)subsystem, name, event);
}

int csp_tracepoint_find(struct csp_tracepoint *point, const char *root, const char *name,
                        struct csp_diag *diag)
{
    char *folder = folder_of(name);
    bool visible = false, found = false;
    int64_t id = 0;
    for (size_t i = 0; folder && !found && i < sizeof places / sizeof *places; i++) {
        visible |= csp_tree_has(root, "%s/events", places[i]);
        found = csp_tree_number(root, &id, "%s/events/%s/id", places[i], folder) && id > 0;
    }
    *point = (struct csp_tracepoint){name, (uint64_t)id};
    if (found) {
        free(folder);
        return 0;
    }
    int error =
        folder && !visible
            ? csp_fail(diag, CSP_ERR_ENV,
                       "the kernel's tracepoints cannot be seen: mount tracefs (mount -t "
                       "tracefs none /sys/kernel/tracing), or run as root")
            : csp_fail(diag, CSP_ERR_INPUT,
                       "there is no tracepoint %s; `ls /sys/kernel/tracing/events/*/` lists "
                       "all: folder:name",
                       name);
    free(folder);
    return error;
}
