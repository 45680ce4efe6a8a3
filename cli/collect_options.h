/* What the command line of `csprof collect` says, for its two kinds of recording. */
#ifndef CSP_CLI_COLLECT_OPTIONS_H
#define CSP_CLI_COLLECT_OPTIONS_H

#include "cli/cli.h"
#include "collect/session.h"
#include "emulate/launch.h"

extern const char csp_collect_usage[];

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
    const struct csp_pulse *pulse;    /* null: the default */
    uint64_t window, period;          /* 0: chosen by the plan */
    double samples, overhead;         /* a second, a share; 0: chosen by the plan */
    const char *resume_at, *pause_at; /* tracepoints, or null */
    bool system_wide, dry_run;
    const char *sysfs; /* plan for another machine */
    struct csp_cpu_list cpus;
    struct csp_session_options session;
    /* Of live ones. */
    bool live;
    const char *binary, *symfs;
    double stable_percent, live_cpu_percent;
    uint64_t slice_size;
};

/* Both return an exit code. */
int csp_collect_emulated(struct csp_collect *collect);
int csp_collect_real(struct csp_collect *collect);

/* How real recordings are made and told of; plain ones go into a file, live ones into a profile. */
typedef int csp_collect_record_fn(struct csp_collect *collect);
int csp_collect_with_plan(struct csp_collect *collect, csp_collect_record_fn *record);
int csp_collect_run_session(struct csp_collect *collect, struct csp_session_result *result);
void csp_collect_warn_of_loss(struct csp_diag *diag, const struct csp_session_result *result);
/* Members of an open object. */
void csp_collect_json(const struct csp_collect *collect, const struct csp_session_result *result,
                      struct csp_json *json);
int csp_collect_quality(struct csp_diag *diag, const struct csp_session_result *result);
#ifndef CSPROF_RECORDER_ONLY
/* Of csprof-gen: collect_live.c; of csprof: gen_program.c, which starts that. */
int csp_collect_live(struct csp_collect *collect);
#endif

#endif
