#include "collect/doctor.h"

#include "base/counted.h"
#include "collect/plan.h"

#include <string.h>

enum { INDENT = 14, WIDTH = 100 };

/* Words with a hanging indent; `column` is where the line stands. */
static void add_words(struct csp_buf *out, const char *text, size_t column, size_t indent)
{
    bool first = true;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > WIDTH) {
            csp_buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            csp_buf_add_char(out, ' ');
            column++;
        }
        csp_buf_add(out, text, length);
        column += length;
        text += length + (text[length] == ' ');
        first = false;
    }
    csp_buf_add_char(out, '\n');
}

static void add_line(struct csp_buf *out, const char *label, const char *text)
{
    csp_buf_printf(out, "%-*s", INDENT, label);
    add_words(out, text, INDENT, INDENT);
}

/* Takes the text over. */
static void add_owned(struct csp_buf *out, const char *label, char *text)
{
    add_line(out, label, text);
    free(text);
}

static void add_cpus(const struct csp_target *target, struct csp_buf *out)
{
    for (size_t i = 0; i < target->groups.len; i++) {
        const struct csp_core_group *group = &target->groups.data[i];
        char *list = csp_cpu_list_text(&group->cpus);
        add_owned(out, i ? "" : "CPUs",
                  csp_asprintf("%zu x %s (%s)", group->cpus.cpus.len, group->name, list));
        free(list);
    }
    if (!target->groups.len)
        add_line(out, "CPUs", "not told");
}

static void add_machine(const struct csp_target *target, struct csp_buf *out)
{
    static const char *const clouds[] = {"", "Amazon EC2 ", "Google Cloud ", "Azure "};
    char *place = csp_asprintf("%s%s%s%s", clouds[target->cloud], target->product,
                               target->virtual_machine ? ", a virtual machine" : "",
                               target->container ? ", in a container" : "");
    const char *text = place + strspn(place, ", ");
    if (*text)
        add_line(out, "Machine", text);
    free(place);
    add_owned(out, "Kernel",
              csp_asprintf("%s, %s", *target->release ? target->release : "version not told",
                           target->arch));
}

static void add_pmus(const struct csp_target *target, struct csp_buf *out)
{
    for (size_t i = 0; i < target->pmus.len; i++) {
        const struct csp_core_pmu *pmu = &target->pmus.data[i];
        struct csp_buf text = {0};
        char *cpus = csp_cpu_list_text(&pmu->cpus);
        csp_buf_printf(&text, "%s on CPUs %s: %s", pmu->name, cpus,
                       pmu->cycles ? "cycles" : "no cycle event");
        if (pmu->counters)
            csp_buf_printf(&text, ", %s", CSP_COUNTED(pmu->counters, "programmable counter"));
        if (pmu->trcextout[0] || pmu->trcextout[1])
            csp_buf_add_string(&text, ", trace unit's outputs (trcextout)");
        if (pmu->branch_records > 0)
            csp_buf_printf(&text, ", %lld branch records", (long long)pmu->branch_records);
        add_line(out, i ? "" : "PMU", text.data);
        csp_buf_free(&text);
        free(cpus);
    }
    if (!target->pmus.len)
        add_line(out, "PMU", "none");
    if (target->spe)
        add_line(out, "", "SPE, the sampling of operations, is there (csprof does not need it)");
}

static const char *timestamp_text(int64_t source)
{
    switch (source) {
    case 0:
        return "timestamps of a source that is not told";
    case 1:
        return "timestamps of the virtual counter, as samples have";
    case 2:
        return "timestamps of the guest's physical counter";
    case 3:
        return "timestamps of the physical counter";
    case -2:
        return "timestamps of different sources";
    default:
        return "no timestamps";
    }
}

static void add_trace(const struct csp_target *target, struct csp_buf *out)
{
    const struct csp_trace_pmu *trace = &target->trace;
    if (!trace->present) {
        add_line(out, "Trace", "none that the kernel knows of");
        return;
    }
    struct csp_buf text = {0};
    size_t etm = trace->cpus.cpus.len - trace->ete_count;
    if (etm)
        csp_buf_printf(&text, "%zu x ETM", etm);
    if (trace->ete_count)
        csp_buf_printf(&text, "%s%u x ETE", etm ? ", " : "", trace->ete_count);
    if (!text.len)
        csp_buf_add_string(&text, "no unit");
    csp_buf_printf(&text, "; %s", timestamp_text(trace->ts_source));
    add_line(out, "Trace", text.data);
    text.len = 0;
    for (size_t i = 0; i < trace->sinks.len && i < 4; i++)
        csp_buf_printf(&text, "%s%s", i ? ", " : "sinks: ", trace->sinks.data[i].name);
    if (trace->sinks.len > 4)
        csp_buf_printf(&text, " and %zu more", trace->sinks.len - 4);
    add_line(out, "", trace->sinks.len ? text.data : "no sink");
    text.len = 0;
    for (size_t i = 0; i < trace->configs.len; i++)
        csp_buf_printf(&text, "%s%s", i ? ", " : "configurations: ", trace->configs.data[i].name);
    if (trace->configs.len)
        add_line(out, "", text.data);
    csp_buf_free(&text);
}

static void add_limits(const struct csp_target *target, struct csp_buf *out)
{
    const struct {
        const char *name;
        int64_t value;
    } limits[] = {{"perf_event_paranoid", target->paranoid},
                  {"perf_event_mlock_kb", target->mlock_kb},
                  {"perf_cpu_time_max_percent", target->cpu_time_max_percent},
                  {"perf_event_max_sample_rate", target->max_sample_rate}};
    struct csp_buf text = {0};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].value != CSP_NOT_TOLD)
            csp_buf_printf(&text, "%s%s %lld", text.len ? ", " : "", limits[i].name,
                           (long long)limits[i].value);
    if (!text.len)
        csp_buf_add_string(&text, "not told");
    if (target->privileged_known)
        csp_buf_add_string(&text, target->privileged ? "; privileged" : "; not privileged");
    add_line(out, "Limits", text.data);
    if ((target->paranoid == 1 || target->paranoid == 2) &&
        !(target->privileged_known && target->privileged))
        add_line(out, "",
                 "users may record their own programs; -a and -C need CAP_PERFMON or "
                 "kernel.perf_event_paranoid=0");
    csp_buf_free(&text);
}

static void add_lack(const struct csp_lack *lack, struct csp_buf *out)
{
    csp_buf_printf(out, "%20s- ", "");
    add_words(out, lack->what, 22, 22);
    csp_buf_printf(out, "%22sfix: ", "");
    add_words(out, lack->fix, 27, 27);
}

/* The strategy before this one for which the same was said; CSP_STRATEGIES: none. */
static enum csp_strategy said_for(const struct csp_assessment *assessment,
                                  enum csp_strategy strategy, const char *what)
{
    for (int i = 0; i < (int)strategy; i++)
        for (size_t j = 0; j < assessment->of[i].lacks.len; j++)
            if (!strcmp(assessment->of[i].lacks.data[j].what, what))
                return (enum csp_strategy)i;
    return CSP_STRATEGIES;
}

static void add_strategy(const struct csp_assessment *assessment, enum csp_strategy strategy,
                         struct csp_buf *out)
{
    const struct csp_strategy_verdict *verdict = &assessment->of[strategy];
    csp_buf_printf(out, "  %-4s%-14s", verdict->ready ? "yes" : "no", csp_strategy_name(strategy));
    add_words(out, verdict->gives, 20, 20);
    for (size_t i = 0; i < verdict->lacks.len; i++) {
        const struct csp_lack *lack = &verdict->lacks.data[i];
        enum csp_strategy before = said_for(assessment, strategy, lack->what);
        if (before == CSP_STRATEGIES)
            add_lack(lack, out);
        else {
            char *text = csp_asprintf("%s: see %s", lack->what, csp_strategy_name(before));
            csp_buf_printf(out, "%20s- ", "");
            add_words(out, text, 22, 22);
            free(text);
        }
    }
    for (size_t i = 0; verdict->ready && i < verdict->cautions.len; i++) {
        csp_buf_printf(out, "%20s! ", "");
        add_words(out, verdict->cautions.data[i], 22, 22);
    }
}

static void add_cost(const struct csp_target *target, enum csp_strategy strategy,
                     struct csp_buf *out)
{
    struct csp_plan_request request;
    struct csp_plan plan;
    csp_plan_request_default(&request, target, strategy);
    csp_plan_make(&plan, &request);
    char *trace = csp_asprintf("windows a second, %.0f kB of trace a second, ",
                               plan.trace_bytes_per_second / 1e3);
    char *text = csp_asprintf("Expected of each busy CPU: %.0f %s%.1f %% of its time (csprof "
                              "collect --dry-run tells more).",
                              plan.windows_per_second, plan.duty > 0 ? trace : "samples a second, ",
                              100 * plan.overhead);
    add_words(out, text, 0, 0);
    free(trace);
    free(text);
}

static void add_conclusion(const struct csp_target *target, const struct csp_assessment *assessment,
                           struct csp_buf *out)
{
    if (csp_assessment_has_branches(assessment)) {
        char *text = csp_asprintf("This machine can record with --strategy %s: %s.",
                                  csp_strategy_name(assessment->best),
                                  assessment->of[assessment->best].gives);
        add_words(out, text, 0, 0);
        free(text);
        add_cost(target, assessment->best, out);
        if (assessment->best_of_cpus != assessment->best) {
            text = csp_asprintf("With -a or -C it uses --strategy %s: %s.",
                                csp_strategy_name(assessment->best_of_cpus),
                                assessment->of[assessment->best_of_cpus].gives);
            add_words(out, text, 0, 0);
            free(text);
        }
        csp_buf_add_string(out, "No recording by csprof on Arm silicon is known yet: what is said "
                                "of Arm machines follows the\nkernel's sources and an emulated "
                                "machine.\n");
        return;
    }
    csp_buf_add_string(
        out, "This machine cannot record what a profile needs: no history of branches.\n");
    if (assessment->best == CSP_STRATEGY_CLOCK)
        csp_buf_add_string(out, "It can take callchains on a timer (--strategy clock).\n");
    csp_buf_add_string(out, "`csprof collect --emulate -- PROGRAM` records AArch64 programs "
                            "without any of this.\n");
}

void csp_doctor_text(const struct csp_target *target, const struct csp_assessment *assessment,
                     struct csp_buf *out)
{
    add_machine(target, out);
    add_cpus(target, out);
    add_pmus(target, out);
    add_trace(target, out);
    add_limits(target, out);
    if (assessment->common.len)
        csp_buf_add_string(out, "\nBefore anything else\n");
    for (size_t i = 0; i < assessment->common.len; i++)
        add_lack(&assessment->common.data[i], out);
    csp_buf_add_string(out, "\nStrategies\n");
    for (int i = 0; i < CSP_STRATEGIES; i++)
        add_strategy(assessment, (enum csp_strategy)i, out);
    csp_buf_add_char(out, '\n');
    add_conclusion(target, assessment, out);
}

static void list_json(struct csp_json *json, const char *key, const struct csp_cpu_list *list)
{
    char *text = csp_cpu_list_text(list);
    csp_json_string(json, key, text);
    free(text);
}

static void pmus_json(const struct csp_target *target, struct csp_json *json)
{
    csp_json_array(json, "pmus");
    for (size_t i = 0; i < target->pmus.len; i++) {
        const struct csp_core_pmu *pmu = &target->pmus.data[i];
        csp_json_object(json, NULL);
        csp_json_string(json, "name", pmu->name);
        list_json(json, "cpus", &pmu->cpus);
        csp_json_bool(json, "cycles", pmu->cycles);
        csp_json_bool(json, "trcextout1", pmu->trcextout[1]);
        csp_json_number(json, "programmable_counters", pmu->counters);
        csp_json_signed(json, "branch_records", pmu->branch_records);
        csp_json_end(json);
    }
    csp_json_end(json);
}

static void trace_json(const struct csp_target *target, struct csp_json *json)
{
    const struct csp_trace_pmu *trace = &target->trace;
    csp_json_object(json, "trace");
    csp_json_bool(json, "present", trace->present);
    list_json(json, "cpus", &trace->cpus);
    csp_json_number(json, "ete", trace->ete_count);
    csp_json_signed(json, "ts_source", trace->ts_source);
    csp_json_array(json, "sinks");
    for (size_t i = 0; i < trace->sinks.len; i++)
        csp_json_string(json, NULL, trace->sinks.data[i].name);
    csp_json_end(json);
    csp_json_array(json, "configurations");
    for (size_t i = 0; i < trace->configs.len; i++)
        csp_json_string(json, NULL, trace->configs.data[i].name);
    csp_json_end(json);
    csp_json_end(json);
}

static void lack_json(const struct csp_lack *lack, struct csp_json *json)
{
    csp_json_object(json, NULL);
    csp_json_string(json, "what", lack->what);
    csp_json_string(json, "fix", lack->fix);
    csp_json_end(json);
}

static void strategies_json(const struct csp_assessment *assessment, struct csp_json *json)
{
    csp_json_object(json, "strategies");
    for (int i = 0; i < CSP_STRATEGIES; i++) {
        const struct csp_strategy_verdict *verdict = &assessment->of[i];
        csp_json_object(json, csp_strategy_name((enum csp_strategy)i));
        csp_json_bool(json, "ready", verdict->ready);
        csp_json_array(json, "missing");
        for (size_t j = 0; j < assessment->common.len; j++)
            lack_json(&assessment->common.data[j], json);
        for (size_t j = 0; j < verdict->lacks.len; j++)
            lack_json(&verdict->lacks.data[j], json);
        csp_json_end(json);
        csp_json_array(json, "cautions");
        for (size_t j = 0; j < verdict->cautions.len; j++)
            csp_json_string(json, NULL, verdict->cautions.data[j]);
        csp_json_end(json);
        csp_json_end(json);
    }
    csp_json_end(json);
}

void csp_doctor_json(const struct csp_target *target, const struct csp_assessment *assessment,
                     struct csp_json *json)
{
    csp_json_string(json, "arch", target->arch);
    csp_json_string(json, "kernel", target->release);
    csp_json_string(json, "product", target->product);
    csp_json_bool(json, "virtual_machine", target->virtual_machine);
    csp_json_array(json, "cpus");
    for (size_t i = 0; i < target->groups.len; i++) {
        csp_json_object(json, NULL);
        csp_json_string(json, "name", target->groups.data[i].name);
        csp_json_number(json, "midr", target->groups.data[i].midr);
        list_json(json, "cpus", &target->groups.data[i].cpus);
        csp_json_end(json);
    }
    csp_json_end(json);
    pmus_json(target, json);
    trace_json(target, json);
    strategies_json(assessment, json);
    if (assessment->best == CSP_STRATEGIES)
        csp_json_null(json, "best");
    else
        csp_json_string(json, "best", csp_strategy_name(assessment->best));
    if (assessment->best_of_cpus == CSP_STRATEGIES)
        csp_json_null(json, "best_of_cpus");
    else
        csp_json_string(json, "best_of_cpus", csp_strategy_name(assessment->best_of_cpus));
    csp_json_bool(json, "branch_history", csp_assessment_has_branches(assessment));
}
