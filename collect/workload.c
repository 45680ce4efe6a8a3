#include "collect/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(int go, int failed, char *const *command, const sigset_t *mask,
                      bool output_to_stderr)
{
    char byte;
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (output_to_stderr)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    ssize_t got;
    while ((got = read(go, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got != 1)
        _exit(127);
    execvp(command[0], command);
    int error = errno;
    got = write(failed, &error, sizeof error);
    _exit(got == sizeof error ? 127 : 126);
}

int csp_workload_start(struct csp_workload *workload, char *const *command, const sigset_t *mask,
                       bool output_to_stderr, struct csp_diag *diag)
{
    int go[2], failed[2];
    *workload = (struct csp_workload){.go = -1, .failed = -1};
    if (pipe2(go, O_CLOEXEC) != 0)
        return csp_fail(diag, CSP_ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(failed, O_CLOEXEC) != 0) {
        close(go[0]);
        close(go[1]);
        return csp_fail(diag, CSP_ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        close(failed[0]);
        run_child(go[0], failed[1], command, mask, output_to_stderr);
    }
    close(go[0]);
    close(failed[1]);
    workload->pid = pid;
    workload->go = go[1];
    workload->failed = failed[0];
    if (pid > 0)
        return 0;
    csp_workload_free(workload);
    return csp_fail(diag, CSP_ERR_FAILED, "cannot start a process: %s", strerror(errno));
}

int csp_workload_go(struct csp_workload *workload, const char *name, struct csp_diag *diag)
{
    int error = 0;
    if (write(workload->go, "", 1) != 1)
        return csp_fail(diag, CSP_ERR_FAILED, "the program's process was ended before it began");
    close(workload->go);
    workload->go = -1;
    /* The pipe closes at a successful execve. */
    ssize_t got;
    while ((got = read(workload->failed, &error, sizeof error)) < 0 && errno == EINTR)
        ;
    if (got <= 0)
        return 0;
    csp_workload_wait(workload, true);
    return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", name,
                    error == ENOENT ? "no such program" : strerror(error));
}

bool csp_workload_wait(struct csp_workload *workload, bool block)
{
    while (!workload->ended) {
        pid_t pid = waitpid(workload->pid, &workload->status, block ? 0 : WNOHANG);
        if (pid == workload->pid)
            workload->ended = true;
        else if (pid == 0 || errno != EINTR)
            break;
    }
    return workload->ended;
}

void csp_workload_free(struct csp_workload *workload)
{
    if (workload->go >= 0) {
        close(workload->go); /* the child sees the end of the pipe and exits */
        if (workload->pid > 0)
            csp_workload_wait(workload, true);
    }
    if (workload->failed >= 0)
        close(workload->failed);
    workload->go = workload->failed = -1;
}
