#include "collect/session_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Where hierarchies of control groups are mounted: version 2, perf_event's of version 1, both. */
static const char *const mounts[] = {"/sys/fs/cgroup/", "/sys/fs/cgroup/perf_event/",
                                     "/sys/fs/cgroup/unified/"};

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int csp_session_open_cgroup(struct csp_session *session)
{
    const char *name = session->options->cgroup;
    if (*name == '/')
        session->cgroup = open_folder(name);
    for (size_t i = 0; session->cgroup < 0 && i < sizeof mounts / sizeof *mounts; i++) {
        char *path = csp_asprintf("%s%s", mounts[i], *name == '/' ? name + 1 : name);
        session->cgroup = open_folder(path);
        free(path);
    }
    if (session->cgroup >= 0)
        return 0;
    return csp_fail(session->diag, CSP_ERR_INPUT,
                    "there is no control group %s: %s; name its folder, or its path below "
                    "/sys/fs/cgroup (/proc/PID/cgroup tells that of a process)",
                    name, strerror(errno));
}
