/* Under sudo only opening events needs privileges: the rest is done as the user who asked. */
#ifndef CSP_COLLECT_PRIVILEGES_H
#define CSP_COLLECT_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

struct csp_user {
    uid_t uid;
    gid_t gid;
};

/* The user who called sudo; false when it is not sudo that made this process root. */
bool csp_sudo_user(struct csp_user *user);
/* Whether that user may make files beside `path`. */
bool csp_user_may_create(const struct csp_user *user, const char *path);
bool csp_user_may_read(const struct csp_user *user, const char *path);
/* Becomes that user, for good, in all threads; `kill` keeps, in this one, the right to signal
 * root's processes, and no other. False with errno: nothing has changed, or this process must end.
 */
bool csp_become_user(const struct csp_user *user, bool kill);

#endif
