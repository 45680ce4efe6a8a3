#include "profgen/unsymbolized.h"

#include <inttypes.h>
#include <string.h>

#include "base/text_lines.h"

struct reader {
    struct csp_program *program;
    struct csp_counters *counters;
    uint64_t base;
    struct csp_text_lines lines;
    uint32_t context;
    CSP_VEC(uint64_t) calls;
};

/* `name:LINE.DISCRIMINATOR`, or the name alone. */
static bool take_frame(struct reader *reader)
{
    struct csp_text_lines *lines = &reader->lines;
    const char *start = lines->at;
    while (lines->at < lines->line_end && !strchr(": ]", *lines->at))
        lines->at++;
    struct csp_line_frame frame = {
        .name = csp_intern(&reader->program->names, start, (size_t)(lines->at - start))};
    uint64_t line = 0, discriminator = 0;
    if (csp_text_lines_take(lines, ":") &&
        (!csp_text_lines_take_number(lines, 10, &line) ||
         (csp_text_lines_take(lines, ".") &&
          !csp_text_lines_take_number(lines, 10, &discriminator))))
        return false;
    frame.line = (uint32_t)line;
    frame.discriminator = (uint32_t)discriminator;
    csp_vec_push(&reader->calls, csp_lines_frame(&reader->program->lines, frame));
    return true;
}

static bool take_call(struct reader *reader)
{
    uint64_t call;
    if (!reader->program->uses_probes)
        return take_frame(reader);
    if (!csp_text_lines_take(&reader->lines, "0x") ||
        !csp_text_lines_take_number(&reader->lines, 16, &call))
        return false;
    csp_vec_push(&reader->calls, call + reader->base);
    return true;
}

/* `CALL @ CALL …]`; nothing before the bracket is the context that is not known. */
static bool read_context(struct reader *reader)
{
    struct csp_text_lines *lines = &reader->lines;
    reader->calls.len = 0;
    if (!csp_text_lines_take(lines, "]")) {
        do {
            if (!take_call(reader))
                return false;
        } while (csp_text_lines_take(lines, " @ "));
        if (!csp_text_lines_take(lines, "]"))
            return false;
    }
    if (!csp_text_lines_at_end(lines))
        return false;
    reader->context = csp_counters_context(reader->counters, reader->calls.data, reader->calls.len);
    /* The text does not tell inlined functions from called ones. */
    *csp_map_at(&reader->counters->called_contexts, reader->context) = 1;
    return true;
}

/* A number of lines, and so many lines; the first line is there. */
static bool read_counters(struct reader *reader, struct csp_counter_table *table,
                          const char *separator)
{
    struct csp_text_lines *lines = &reader->lines;
    uint64_t left;
    csp_text_lines_skip_blanks(lines);
    if (!csp_text_lines_take_number(lines, 10, &left) || !csp_text_lines_at_end(lines))
        return false;
    for (; left; left--) {
        uint64_t from, to, count;
        if (!csp_text_lines_next(lines))
            return false;
        csp_text_lines_skip_blanks(lines);
        if (!csp_text_lines_take_number(lines, 16, &from) ||
            !csp_text_lines_take(lines, separator) || !csp_text_lines_take_number(lines, 16, &to) ||
            !csp_text_lines_take(lines, ":") || !csp_text_lines_take_number(lines, 10, &count) ||
            !csp_text_lines_at_end(lines))
            return false;
        if (separator[1] == '\0' && from > to)
            return false;
        csp_counters_add(table, reader->context, from + reader->base, to + reader->base, count);
    }
    return true;
}

/* A context, where there are some, its ranges and its branches; the first line is there. */
static bool read_counted(struct reader *reader, bool *contexts)
{
    struct csp_text_lines *lines = &reader->lines;
    reader->context = csp_counters_context(reader->counters, NULL, 0);
    if (csp_text_lines_take(lines, "[")) {
        *contexts = true;
        if (!read_context(reader) || !csp_text_lines_next(lines))
            return false;
    }
    return read_counters(reader, &reader->counters->ranges, "-") && csp_text_lines_next(lines) &&
           read_counters(reader, &reader->counters->branches, "->");
}

int csp_unsymbolized_read(const struct csp_file *file, struct csp_program *program, uint64_t base,
                          struct csp_counters *counters, bool *contexts, struct csp_diag *diag)
{
    struct reader reader = {.program = program,
                            .counters = counters,
                            .base = base,
                            .lines = csp_text_lines_of(file->data, file->size)};
    const struct csp_text_lines *lines = &reader.lines;
    bool ok = true;
    while (ok && csp_text_lines_next(&reader.lines))
        if (!csp_text_lines_at_end(lines))
            ok = read_counted(&reader, contexts);
    csp_vec_free(&reader.calls);
    if (ok)
        return 0;
    size_t length = (size_t)(lines->line_end - lines->line);
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s, line %" PRIu64
                    ": '%.*s': expected counters as --skip-symbolization writes "
                    "them of a profile by %s",
                    file->path, lines->number, length < 80 ? (int)length : 80, lines->line,
                    program->uses_probes ? "pseudo-probes" : "lines");
}
