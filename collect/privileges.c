#include "collect/privileges.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool read_id(const char *name, unsigned *id)
{
    const char *text = getenv(name);
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    *id = (unsigned)value;
    return value && !*end && value < 0xffffffff;
}

bool csp_sudo_user(struct csp_user *user)
{
    return geteuid() == 0 && read_id("SUDO_UID", &user->uid) && read_id("SUDO_GID", &user->gid);
}

static bool may(const struct csp_user *user, const char *path, int mode)
{
    bool may = setegid(user->gid) == 0 && seteuid(user->uid) == 0 &&
               faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
    return seteuid(0) == 0 && setegid(0) == 0 && may;
}

bool csp_user_may_create(const struct csp_user *user, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? csp_asprintf("%.*s", (int)(slash - path) + 1, path) : csp_strdup(".");
    bool result = may(user, folder, W_OK | X_OK);
    free(folder);
    return result;
}

bool csp_user_may_read(const struct csp_user *user, const char *path)
{
    return may(user, path, R_OK);
}

bool csp_become_user(const struct csp_user *user, bool kill)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0}};
    if (kill)
        sets[0].effective = sets[0].permitted = 1U << CAP_KILL;
    return setgroups(0, NULL) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
           prctl(PR_SET_KEEPCAPS, kill ? 1 : 0) == 0 &&
           setresuid(user->uid, user->uid, user->uid) == 0 &&
           syscall(SYS_capset, &header, sets) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}
