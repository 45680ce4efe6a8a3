#include "collect/host.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool exists(const char *sysfs, const char *name)
{
    char *path = csp_asprintf("%s/%s", sysfs, name);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

int csp_host_explain(const char *sysfs, struct csp_diag *diag)
{
    const char *emulate =
        "`csprof collect --emulate -- PROGRAM` records an AArch64 program without one";
#ifndef __aarch64__
    return csp_fail(diag, CSP_ERR_ENV,
                    "this is not an Arm machine, so it has no trace unit (ETM or ETE); %s",
                    emulate);
#endif
    if (!exists(sysfs, "bus/event_source/devices/cs_etm"))
        return csp_fail(
            diag, CSP_ERR_ENV,
            "this kernel offers no trace unit: %s/bus/event_source/devices/cs_etm is "
            "missing (drivers coresight-etm4x and coresight-tmc or coresight-trbe; "
            "firmware must describe the devices; virtual machines rarely have them); %s",
            sysfs, emulate);
    return csp_fail(diag, CSP_ERR_ENV,
                    "this host has a trace unit, but this version of csprof does not drive it: "
                    "record with `perf record -e cs_etm//u`, which csprof reads; or %s",
                    emulate);
}
