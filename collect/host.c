#include "collect/host.h"

#include <string.h>

int csp_host_explain(const struct csp_target *target, const struct csp_assessment *assessment,
                     struct csp_diag *diag)
{
    const char *clock =
        assessment->best == CSP_STRATEGY_CLOCK ? "; --strategy clock records callchains alone" : "";
    const struct csp_lack *lack = NULL;
    bool arm = target->trace.present || !strcmp(target->arch, "aarch64");
    enum csp_strategy nearest = arm ? CSP_STRATEGY_FREE_RUNNING : CSP_STRATEGY_BRANCH_STACK;
    if (assessment->common.len)
        lack = &assessment->common.data[0];
    else if (assessment->of[nearest].lacks.len)
        lack = &assessment->of[nearest].lacks.data[0];
    return csp_fail(diag, CSP_ERR_ENV,
                    "this machine cannot record a history of branches: %s (to mend it: %s); "
                    "`csprof doctor` tells more, `csprof collect --emulate -- PROGRAM` records an "
                    "AArch64 program without%s",
                    lack ? lack->what : "no strategy fits", lack ? lack->fix : "see csprof doctor",
                    clock);
}
