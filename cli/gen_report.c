#include "cli/gen_report.h"
#include "base/counted.h"

#include <math.h>
#include <stdio.h>

/* Whether there were samples enough, as far as the profile itself tells. */
static void print_density(const struct gen *gen, double density)
{
    if (density > 0 && density < gen->density_threshold)
        csp_note(&gen->cli->diag,
                 "each place in the hot functions was counted only %.1f times: %.1f times as many "
                 "samples would make a better profile",
                 density, ceil(10 * gen->density_threshold / density) / 10);
    if (gen->show_density && !gen->cli->json)
        printf("Functions with density >= %.1f account for %.2f%% total sample counts.\n", density,
               gen->options.profile.density_cutoff / 10000.0);
}

static double bogus_percent(const struct csp_sample_check_stats *checks)
{
    return checks->checked ? 100.0 * (double)checks->rejected / (double)checks->checked : 0;
}

static void print_checks(const struct gen *gen, const struct csp_sample_check_stats *checks)
{
    struct csp_buf rejected = {0}, kept = {0};
    for (int i = 0; i < CSP_RULE_COUNT; i++) {
        bool chosen = gen->options.rules & 1U << i;
        if (checks->broken[i])
            csp_buf_printf(chosen ? &rejected : &kept, " %s %llu", csp_sample_rule_names[i],
                           (unsigned long long)checks->broken[i]);
    }
    csp_buf_add_char(&rejected, '\0');
    csp_buf_add_char(&kept, '\0');
    if (checks->rejected)
        csp_note(&gen->cli->diag, "%.2f%% of the samples contradict themselves, rejected:%s",
                 bogus_percent(checks), rejected.data);
    if (kept.len > 1)
        csp_debug(&gen->cli->diag, "kept, though not chosen by --validate:%s", kept.data);
    csp_buf_free(&rejected);
    csp_buf_free(&kept);
}

int csp_gen_check_quality(const struct gen *gen, const struct csp_sample_check_stats *checks)
{
    double percent = bogus_percent(checks);
    if (!gen->has_max_bogus || percent <= gen->max_bogus)
        return 0;
    return csp_fail(&gen->cli->diag, CSP_ERR_QUALITY,
                    "%.2f%% of the samples contradict themselves, and no more than %g%% may "
                    "(--max-bogus)",
                    percent, gen->max_bogus);
}

void csp_gen_print_summary(const struct gen *gen, const struct csp_profgen *profgen)
{
    const struct csp_profgen_stats *stats = &profgen->stats;
    if (!gen->options.skip_symbolization && !gen->options.aggregate && !gen->options.bolt)
        print_density(gen, stats->profile.density);
    if (gen->cli->json) {
        struct csp_buf text = {0};
        struct csp_json own = {.out = &text}, *json = gen->results ? gen->results : &own;
        csp_json_object(json, NULL);
        csp_profgen_json(profgen, json);
        csp_json_string(json, "output", gen->output_path);
        csp_json_end(json);
        csp_cli_print(&text);
        return;
    }
    if (gen->options.aggregate) {
        csp_note(&gen->cli->diag, "%s: %llu distinct of %s, %s", gen->output_path,
                 (unsigned long long)stats->distinct_samples,
                 CSP_COUNTED(stats->samples.used, "sample"),
                 CSP_COUNTED(stats->profile_bytes, "byte"));
        return;
    }
    if (gen->options.skip_symbolization) {
        csp_note(&gen->cli->diag, "%s: counters of %s and %s from %llu of %s, %s", gen->output_path,
                 CSP_COUNTED(stats->range_counters, "range"),
                 CSP_COUNTED(stats->branch_counters, "branch"),
                 (unsigned long long)stats->samples.used,
                 CSP_COUNTED(stats->samples.samples, "sample"),
                 CSP_COUNTED(stats->profile_bytes, "byte"));
        return;
    }
    if (gen->options.bolt)
        csp_note(&gen->cli->diag, "%s: %s for BOLT from %llu of %s", gen->output_path,
                 CSP_COUNTED(stats->bolt_lines, "line"), (unsigned long long)stats->samples.used,
                 CSP_COUNTED(stats->samples.samples, "sample"));
    else
        csp_note(&gen->cli->diag, "%s: %s in %s from %llu of %s, %s", gen->output_path,
                 CSP_COUNTED(stats->profile.functions, "function"),
                 CSP_COUNTED(stats->profile.contexts, "context"),
                 (unsigned long long)stats->samples.used,
                 CSP_COUNTED(stats->samples.samples, "sample"),
                 CSP_COUNTED(stats->profile_bytes, "byte"));
    if (stats->profile.other_unit_contexts)
        csp_note(&gen->cli->diag,
                 "%s %s into other compile units, which a compiler that sees one at "
                 "a time cannot inline: merged (--preinline-across-units keeps them, for LTO)",
                 CSP_COUNTED(stats->profile.other_unit_contexts, "context"),
                 csp_by_count(stats->profile.other_unit_contexts, "is a call", "are calls"));
    print_checks(gen, &stats->checks);
}
