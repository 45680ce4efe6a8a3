/* What the command line of `csprof collect` says, for its two kinds of recording. */
#ifndef CSP_CLI_COLLECT_OPTIONS_H
#define CSP_CLI_COLLECT_OPTIONS_H

#include "cli/cli.h"
#include "collect/session.h"
#include "emulate/launch.h"

struct csp_collect {
    struct csp_cli *cli;
    const char *output;
    char **command;                      /* null-terminated; its first may be null */
    const char *const *recorder_command; /* our own command line */
    bool emulate;
    struct csp_emulate_options emulation;
    /* Of real recordings. */
    bool automatic; /* the strategy is ours to choose */
    enum csp_strategy strategy;
    uint64_t window, period;  /* 0: chosen by the plan */
    double samples, overhead; /* a second, a share; 0: chosen by the plan */
    bool system_wide, dry_run;
    const char *sysfs; /* plan for another machine */
    struct csp_cpu_list cpus;
    struct csp_session_options session;
};

/* Both return an exit code. */
int csp_collect_emulated(struct csp_collect *collect);
int csp_collect_real(struct csp_collect *collect);

#endif
