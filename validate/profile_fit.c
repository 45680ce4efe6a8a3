#include "validate/profile_fit.h"

#include <stdlib.h>
#include <string.h>

const char *const csp_fit_names[CSP_FIT_COUNT] = {"same", "changed", "absent", "unchecked"};

static enum csp_fit fit_of(const struct csp_probes *probes,
                           const struct csp_profile_function *function)
{
    const uint64_t *known = csp_map_find(&probes->by_guid, function->guid);
    if (!known)
        return CSP_FIT_ABSENT;
    if (!function->hash)
        return CSP_FIT_UNCHECKED;
    return probes->functions.data[*known - 1].hash == function->hash ? CSP_FIT_SAME
                                                                     : CSP_FIT_CHANGED;
}

static int hottest_first(const void *x, const void *y)
{
    const struct csp_fit_function *a = x, *b = y;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->name, b->name);
}

int csp_profile_fit(struct csp_profile_fit *fit, const struct csp_profile_table *profile,
                    const struct csp_program *program, struct csp_diag *diag)
{
    *fit = (struct csp_profile_fit){0};
    if (profile->by_lines)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "the profile is by lines, which have no checksums: only one by "
                        "pseudo-probes can be checked");
    if (!program->probes.functions.len)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no pseudo-probes: build it with -fpseudo-probe-for-profiling",
                        program->path);
    uint64_t known = 0;
    for (size_t i = 0; i < profile->functions.len; i++) {
        const struct csp_profile_function *function = &profile->functions.data[i];
        enum csp_fit how = fit_of(&program->probes, function);
        struct csp_buf name = {0};
        csp_profile_table_name(profile, NULL, function->guid, &name);
        csp_vec_push(&fit->functions, (struct csp_fit_function){name.data, how, function->count});
        fit->number[how]++;
        fit->share[how] += (double)function->count / (double)profile->total;
        known += how != CSP_FIT_ABSENT;
    }
    fit->new_functions = program->probes.functions.len - known;
    if (fit->functions.len)
        qsort(fit->functions.data, fit->functions.len, sizeof *fit->functions.data, hottest_first);
    return 0;
}

void csp_profile_fit_free(struct csp_profile_fit *fit)
{
    for (size_t i = 0; i < fit->functions.len; i++)
        free(fit->functions.data[i].name);
    csp_vec_free(&fit->functions);
}

double csp_profile_fit_lost(const struct csp_profile_fit *fit)
{
    return fit->share[CSP_FIT_CHANGED] + fit->share[CSP_FIT_ABSENT];
}

static double share_of_function(const struct csp_profile_fit *fit, size_t i)
{
    uint64_t total = 0;
    for (size_t k = 0; k < fit->functions.len; k++)
        total += fit->functions.data[k].count;
    return total ? (double)fit->functions.data[i].count / (double)total : 0;
}

void csp_profile_fit_text(const struct csp_profile_fit *fit, size_t most, struct csp_buf *out)
{
    for (int i = 0; i < CSP_FIT_COUNT; i++)
        csp_buf_printf(out, "%-10s %8llu functions  %7.3f%% of the counts\n", csp_fit_names[i],
                       (unsigned long long)fit->number[i], 100 * fit->share[i]);
    csp_buf_printf(out, "%-10s %8llu functions\n", "new", (unsigned long long)fit->new_functions);
    size_t shown = 0, hidden = 0;
    for (size_t i = 0; i < fit->functions.len; i++) {
        const struct csp_fit_function *function = &fit->functions.data[i];
        if (function->fit != CSP_FIT_CHANGED && function->fit != CSP_FIT_ABSENT)
            continue;
        if (shown == most) {
            hidden++;
            continue;
        }
        csp_buf_printf(out, "%s%7.3f%% %-8s %s\n", shown++ ? "" : "\n",
                       100 * share_of_function(fit, i), csp_fit_names[function->fit],
                       function->name);
    }
    if (hidden)
        csp_buf_printf(out, "and %zu more (--top)\n", hidden);
}

void csp_profile_fit_json(const struct csp_profile_fit *fit, struct csp_json *json)
{
    for (int i = 0; i < CSP_FIT_COUNT; i++) {
        csp_json_object(json, csp_fit_names[i]);
        csp_json_number(json, "functions", fit->number[i]);
        csp_json_real(json, "share", fit->share[i]);
        csp_json_end(json);
    }
    csp_json_number(json, "new_functions", fit->new_functions);
    csp_json_real(json, "lost_share", csp_profile_fit_lost(fit));
    csp_json_array(json, "not_the_same");
    for (size_t i = 0; i < fit->functions.len; i++) {
        const struct csp_fit_function *function = &fit->functions.data[i];
        if (function->fit == CSP_FIT_SAME)
            continue;
        csp_json_object(json, NULL);
        csp_json_string(json, "name", function->name);
        csp_json_string(json, "why", csp_fit_names[function->fit]);
        csp_json_number(json, "count", function->count);
        csp_json_end(json);
    }
    csp_json_end(json);
}
