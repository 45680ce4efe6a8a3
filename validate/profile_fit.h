/* Whether a profile still fits a program: Clang drops the counts of a function whose control-flow
 * checksum (of its probes, .pseudo_probe_desc) is not the one in the profile. */
#ifndef CSP_VALIDATE_PROFILE_FIT_H
#define CSP_VALIDATE_PROFILE_FIT_H

#include "base/json.h"
#include "profgen/program.h"
#include "validate/profile_table.h"

enum csp_fit {
    CSP_FIT_SAME,
    CSP_FIT_CHANGED,   /* another checksum */
    CSP_FIT_ABSENT,    /* the program has no such function */
    CSP_FIT_UNCHECKED, /* the profile has no checksum of it: it was only called */
    CSP_FIT_COUNT
};

extern const char *const csp_fit_names[CSP_FIT_COUNT];

struct csp_fit_function {
    char *name;
    enum csp_fit fit;
    uint64_t count;
};

struct csp_profile_fit {
    CSP_VEC(struct csp_fit_function) functions; /* the hottest first */
    uint64_t number[CSP_FIT_COUNT];             /* functions */
    double share[CSP_FIT_COUNT];                /* of the profile's counts */
    uint64_t new_functions; /* of the program, that the profile knows nothing of */
};

/* Errors: CSP_ERR_INPUT for a profile by lines or a binary without probes: nothing to compare. */
int csp_profile_fit(struct csp_profile_fit *fit, const struct csp_profile_table *profile,
                    const struct csp_program *program, struct csp_diag *diag);
void csp_profile_fit_free(struct csp_profile_fit *fit);
/* The share of the counts that the compiler will not use. */
double csp_profile_fit_lost(const struct csp_profile_fit *fit);
/* `most` lines about functions, at most. */
void csp_profile_fit_text(const struct csp_profile_fit *fit, size_t most, struct csp_buf *out);
/* Members of an object that the caller opened: all functions that are not the same. */
void csp_profile_fit_json(const struct csp_profile_fit *fit, struct csp_json *json);

#endif
