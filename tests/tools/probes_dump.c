/* Prints every pseudo-probe of a binary, one a line, by address; call probes are rebuilt where the
 * compiler wrote none:
 *     address block|indirect|direct index function [@ caller:callsite]...
 * and, for each call instruction that has no probe, `address none function`. */
#include "profgen/call_probes.h"

#include <inttypes.h>
#include <stdio.h>

/* Counters that touch every function, so that the calls of all are looked at. */
static void touch_everything(const struct csp_program *program, struct csp_counters *counters)
{
    uint32_t context = csp_counters_context(counters, NULL, 0);
    for (size_t i = 0; i < program->functions.ranges.len; i++) {
        uint64_t start = program->functions.ranges.data[i].start;
        csp_counters_add(&counters->ranges, context, start, start, 1);
    }
}

static const char *function_name(const struct csp_program *program, uint32_t node)
{
    const struct csp_probes *probes = &program->probes;
    uint32_t function = probes->nodes.data[node].function;
    return csp_intern_text(&program->names, probes->functions.data[function].name);
}

static void print_probe(const struct csp_program *program, const struct csp_probe *probe)
{
    static const char *const types[] = {"block", "indirect", "direct"};
    const struct csp_probe_node *nodes = program->probes.nodes.data;
    printf("%" PRIx64 " %s %" PRIu32 " %s", probe->address, types[probe->type], probe->index,
           function_name(program, probe->node));
    for (uint32_t node = probe->node; nodes[node].parent != CSP_NO_NODE; node = nodes[node].parent)
        printf(" @ %s:%" PRIu32, function_name(program, nodes[node].parent), nodes[node].callsite);
    putchar('\n');
}

static void print_calls_without_probe(const struct csp_program *program)
{
    for (size_t i = 0; i < program->functions.ranges.len; i++) {
        const struct csp_function_range *range = &program->functions.ranges.data[i];
        uint32_t name = program->functions.functions.data[range->function].name;
        for (uint64_t at = csp_code_from(&program->code, range->start); at && at < range->end;
             at = csp_code_from(&program->code, at + 1))
            if (csp_code_flags(&program->code, at) & CSP_CODE_CALL &&
                csp_probes_call_at(&program->probes, at) == CSP_NO_PROBE)
                printf("%" PRIx64 " none %s\n", at, csp_intern_text(&program->names, name));
    }
}

static void complain(void *user, enum csp_severity severity, const char *message)
{
    (void)user, (void)severity;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = complain};
    struct csp_program program;
    struct csp_program_options options = {.path = argv[1]};
    struct csp_counters counters = {0};
    if (argc != 2 || csp_program_open(&program, &options, &diag))
        return 2;
    touch_everything(&program, &counters);
    int error = csp_call_probes_rebuild(&program, &counters, 0, &diag);
    for (size_t i = 0; i < program.probes.by_address.len; i++)
        print_probe(&program, &program.probes.probes.data[program.probes.by_address.data[i].probe]);
    print_calls_without_probe(&program);
    csp_counters_free(&counters);
    csp_program_close(&program);
    return error < 0;
}
