#include "collect/cores.h"

#include <stddef.h>

#define NO CSP_CORE_NO
#define YES CSP_CORE_YES
#define OPEN CSP_CORE_UNKNOWN /* the manuals do not say, or do not agree */

enum { ARM = 0x41, MICROSOFT = 0x6d, AMPERE = 0xc0 };

static const struct csp_core cores[] = {
    {ARM, 0xd03, "Cortex-A53", NO, NO, NO},
    {ARM, 0xd05, "Cortex-A55", NO, NO, NO},
    {ARM, 0xd08, "Cortex-A72", NO, NO, NO},
    {ARM, 0xd0b, "Cortex-A76", NO, NO, NO},
    {ARM, 0xd0c, "Neoverse N1", NO, NO, NO},
    {ARM, 0xd40, "Neoverse V1", NO, NO, NO},
    {ARM, 0xd46, "Cortex-A510", OPEN, YES, NO},
    {ARM, 0xd47, "Cortex-A710", OPEN, YES, NO},
    {ARM, 0xd48, "Cortex-X2", OPEN, YES, NO},
    {ARM, 0xd49, "Neoverse N2", YES, YES, NO},
    {ARM, 0xd4d, "Cortex-A715", OPEN, YES, NO},
    {ARM, 0xd4e, "Cortex-X3", OPEN, YES, NO},
    {ARM, 0xd4f, "Neoverse V2", YES, YES, NO},
    {ARM, 0xd80, "Cortex-A520", YES, YES, YES},
    {ARM, 0xd81, "Cortex-A720", OPEN, YES, YES},
    {ARM, 0xd82, "Cortex-X4", OPEN, YES, YES},
    {ARM, 0xd84, "Neoverse V3", YES, OPEN, YES},
    {ARM, 0xd85, "Cortex-X925", YES, OPEN, YES},
    {ARM, 0xd8e, "Neoverse N3", YES, YES, OPEN},
    {MICROSOFT, 0xd49, "Azure Cobalt 100", YES, YES, NO},
    {AMPERE, 0xac3, "Ampere-1", OPEN, OPEN, OPEN},
};

const struct csp_core *csp_core_find(uint64_t midr)
{
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (cores[i].implementer == (midr >> 24 & 0xff) && cores[i].part == (midr >> 4 & 0xfff))
            return &cores[i];
    return NULL;
}
