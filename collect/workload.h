/* The program that is recorded: started, but held until everything is ready. */
#ifndef CSP_COLLECT_WORKLOAD_H
#define CSP_COLLECT_WORKLOAD_H

#include "base/diag.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct csp_workload {
    pid_t pid;
    int go;     /* closing it holds the program back for ever, a byte lets it run */
    int failed; /* tells errno when the program cannot be run */
    bool ended;
    int status; /* of waitpid */
};

/* Forks; the child waits. `mask` is the signal mask that the program gets; `output_to_stderr` keeps
 * our own standard output for --json. Errors: CSP_ERR_FAILED. */
int csp_workload_start(struct csp_workload *workload, char *const *command, const sigset_t *mask,
                       bool output_to_stderr, struct csp_diag *diag);
/* Lets it run. Errors: CSP_ERR_INPUT when there is no such program. */
int csp_workload_go(struct csp_workload *workload, const char *name, struct csp_diag *diag);
/* True once it has ended; `block` waits for that. */
bool csp_workload_wait(struct csp_workload *workload, bool block);
/* Ends a program that was never let go, and releases everything. */
void csp_workload_free(struct csp_workload *workload);

#endif
