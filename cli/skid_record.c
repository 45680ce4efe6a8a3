/* The recording of csprof validate skid. (Apart from the rest of it, because collect and decode
 * each have names that the other has, too.) */
#include "cli/validate_options.h"

#include "base/alloc.h"
#include "base/file.h"
#include "collect/session.h"

#include <stdlib.h>

/* The best that this machine has; a timer, if nothing else. */
static int record_with(struct csp_cli *cli, const char *recording, const struct csp_target *target,
                       const struct csp_assessment *assessment, char **command)
{
    struct csp_diag *diag = &cli->diag;
    enum csp_strategy strategy = assessment->best;
    if (strategy == CSP_STRATEGY_STROBE) /* it takes no samples */
        strategy = CSP_STRATEGY_CLOCK;
    if (strategy == CSP_STRATEGIES || !assessment->of[strategy].ready)
        return csp_fail(diag, CSP_ERR_ENV,
                        "this machine lets nobody sample, not even by a timer: `csprof doctor` "
                        "tells why");
    csp_note(diag, "running %s for %s s, sampled by strategy %s", command[1], command[2],
             csp_strategy_name(strategy));
    struct csp_plan_request request;
    struct csp_plan plan;
    csp_plan_request_default(&request, target, strategy);
    csp_plan_make(&plan, &request);
    const struct csp_session_options options = {
        .target = target,
        .plan = &plan,
        .output = recording,
        .command = command,
        .recorder_command = (const char *const[]){"csprof", "validate", "skid", NULL},
        .output_to_stderr = true,
    };
    struct csp_session_result result;
    int error = csp_session_run(&options, &result, diag);
    if (!error && result.exit_code)
        error = csp_fail(diag, CSP_ERR_FAILED, "%s ended with exit code %d", command[0],
                         result.exit_code);
    return error;
}

int csp_skid_record(struct csp_cli *cli, const char *workload, double seconds,
                    const char *recording, const char *answer)
{
    char *own = csp_own_folder();
    char *program = csp_asprintf("%scsprof-workload", own ? own : "");
    char *duration = csp_asprintf("%g", seconds);
    char *command[] = {program, (char *)(uintptr_t)workload, duration, (char *)(uintptr_t)answer,
                       NULL};
    struct csp_target target;
    struct csp_assessment assessment;
    csp_target_read(&target, "");
    csp_assess(&assessment, &target);
    int error = record_with(cli, recording, &target, &assessment, command);
    csp_assessment_free(&assessment);
    csp_target_free(&target);
    free(duration);
    free(program);
    free(own);
    return error;
}
