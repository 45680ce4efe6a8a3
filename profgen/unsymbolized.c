#include "profgen/unsymbolized.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* A context by its text, which is what the output is sorted by. */
struct named_context {
    char *name;
    uint32_t context;
};

static int by_name(const void *a, const void *b)
{
    const struct named_context *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void add_frame(const struct csp_program *program, uint64_t id, bool last,
                      struct csp_buf *name)
{
    const struct csp_line_frame *frame = csp_lines_frame_at(&program->lines, (uint32_t)id);
    csp_buf_add_string(name, csp_intern_text(&program->names, frame->name));
    if (last)
        return;
    csp_buf_printf(name, ":%u", frame->line);
    if (frame->discriminator)
        csp_buf_printf(name, ".%u", frame->discriminator);
}

static char *context_name(const struct csp_program *program, const struct csp_counters *counters,
                          uint32_t context, uint64_t base)
{
    struct csp_buf name = {0};
    csp_calls calls = {0};
    csp_buf_add_string(&name, "");
    csp_counters_calls(counters, context, &calls);
    for (size_t i = 0; i < calls.len; i++) {
        if (i)
            csp_buf_add_string(&name, " @ ");
        if (program->uses_probes)
            csp_buf_printf(&name, "0x%" PRIx64, calls.data[i] - base);
        else
            add_frame(program, calls.data[i], i + 1 == calls.len, &name);
    }
    csp_vec_free(&calls);
    return name.data;
}

static void write_counters(const struct csp_counter *counters, size_t count, const char *separator,
                           bool indent, uint64_t base, struct csp_buf *out)
{
    const char *margin = indent ? "  " : "";
    csp_buf_printf(out, "%s%zu\n", margin, count);
    for (size_t i = 0; i < count; i++) {
        csp_buf_add_string(out, margin);
        csp_buf_add_hex(out, counters[i].from - base);
        csp_buf_add_string(out, separator);
        csp_buf_add_hex(out, counters[i].to - base);
        csp_buf_add_char(out, ':');
        csp_buf_add_decimal(out, counters[i].count);
        csp_buf_add_char(out, '\n');
    }
}

/* Where the counters of each context begin in a sorted array; one more entry for the end. */
static size_t *context_starts(const struct csp_counter *sorted, size_t count, size_t contexts)
{
    size_t *starts = csp_calloc(contexts + 1, sizeof *starts);
    for (size_t i = 0, context = 0; context <= contexts; context++) {
        while (i < count && sorted[i].context < context)
            i++;
        starts[context] = i;
    }
    return starts;
}

void csp_unsymbolized_write(const struct csp_program *program, const struct csp_counters *counters,
                            bool contexts, uint64_t base, struct csp_buf *out)
{
    size_t count = counters->contexts.len;
    struct csp_counter *ranges = csp_counters_sorted(&counters->ranges);
    struct csp_counter *branches = csp_counters_sorted(&counters->branches);
    size_t *range = context_starts(ranges, counters->ranges.counts.len, count);
    size_t *branch = context_starts(branches, counters->branches.counts.len, count);
    struct named_context *names = csp_calloc(count + 1, sizeof *names);
    for (uint32_t i = 0; i < count; i++)
        names[i] = (struct named_context){context_name(program, counters, i, base), i};
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        uint32_t id = names[i].context;
        size_t range_len = range[id + 1] - range[id], branch_len = branch[id + 1] - branch[id];
        if (contexts && (range_len || branch_len))
            csp_buf_printf(out, "[%s]\n", names[i].name);
        if (!contexts || range_len || branch_len) {
            write_counters(ranges + range[id], range_len, "-", contexts, base, out);
            write_counters(branches + branch[id], branch_len, "->", contexts, base, out);
        }
        free(names[i].name);
    }
    free(names);
    free(range);
    free(branch);
    free(ranges);
    free(branches);
}
