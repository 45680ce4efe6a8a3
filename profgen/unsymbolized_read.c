#include "profgen/unsymbolized.h"

#include <inttypes.h>
#include <string.h>

struct reader {
    struct csp_program *program;
    struct csp_counters *counters;
    uint64_t base;
    const char *at, *end, *line; /* `line` is where the line being read begins */
    uint64_t line_number;
    uint32_t context;
    CSP_VEC(uint64_t) calls;
};

static bool next_line(struct reader *reader)
{
    const char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    if (newline)
        reader->at = newline + 1;
    else
        reader->at = reader->end;
    reader->line = reader->at;
    reader->line_number++;
    return reader->at < reader->end;
}

static void skip_spaces(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t'))
        reader->at++;
}

static bool take(struct reader *reader, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, text, size) != 0)
        return false;
    reader->at += size;
    return true;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static bool take_number(struct reader *reader, int base, uint64_t *value)
{
    const char *start = reader->at;
    for (*value = 0; reader->at < reader->end && digit(*reader->at) < base; reader->at++) {
        if (*value > UINT64_MAX / (uint64_t)base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit(*reader->at);
    }
    return reader->at > start;
}

static bool at_line_end(struct reader *reader)
{
    if (reader->at < reader->end && *reader->at == '\r')
        reader->at++;
    return reader->at == reader->end || *reader->at == '\n';
}

/* `name:LINE.DISCRIMINATOR`, or the name alone. */
static bool take_frame(struct reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && !strchr(": ]\n", *reader->at))
        reader->at++;
    struct csp_line_frame frame = {
        .name = csp_intern(&reader->program->names, start, (size_t)(reader->at - start))};
    uint64_t line = 0, discriminator = 0;
    if (take(reader, ":") && (!take_number(reader, 10, &line) ||
                              (take(reader, ".") && !take_number(reader, 10, &discriminator))))
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
    if (!take(reader, "0x") || !take_number(reader, 16, &call))
        return false;
    csp_vec_push(&reader->calls, call + reader->base);
    return true;
}

/* `[CALL @ CALL …]`; nothing between the brackets is the context that is not known. */
static bool read_context(struct reader *reader)
{
    reader->calls.len = 0;
    if (!take(reader, "]")) {
        do {
            if (!take_call(reader))
                return false;
        } while (take(reader, " @ "));
        if (!take(reader, "]"))
            return false;
    }
    if (!at_line_end(reader))
        return false;
    reader->context = csp_counters_context(reader->counters, reader->calls.data, reader->calls.len);
    /* The text does not tell inlined functions from called ones. */
    *csp_map_at(&reader->counters->called_contexts, reader->context) = 1;
    next_line(reader);
    return true;
}

static bool read_counters(struct reader *reader, struct csp_counter_table *table,
                          const char *separator)
{
    uint64_t lines;
    skip_spaces(reader);
    if (!take_number(reader, 10, &lines) || !at_line_end(reader))
        return false;
    for (next_line(reader); lines; lines--, next_line(reader)) {
        uint64_t from, to, count;
        skip_spaces(reader);
        if (!take_number(reader, 16, &from) || !take(reader, separator) ||
            !take_number(reader, 16, &to) || !take(reader, ":") ||
            !take_number(reader, 10, &count) || !at_line_end(reader))
            return false;
        if (separator[1] == '\0' && from > to)
            return false;
        csp_counters_add(table, reader->context, from + reader->base, to + reader->base, count);
    }
    return true;
}

static bool read_all(struct reader *reader, bool *contexts)
{
    while (reader->at < reader->end) {
        if (at_line_end(reader)) {
            next_line(reader);
            continue;
        }
        reader->context = csp_counters_context(reader->counters, NULL, 0);
        if (take(reader, "[")) {
            *contexts = true;
            if (!read_context(reader))
                return false;
        }
        if (!read_counters(reader, &reader->counters->ranges, "-") ||
            !read_counters(reader, &reader->counters->branches, "->"))
            return false;
    }
    return true;
}

int csp_unsymbolized_read(const struct csp_file *file, struct csp_program *program, uint64_t base,
                          struct csp_counters *counters, bool *contexts, struct csp_diag *diag)
{
    struct reader reader = {.program = program,
                            .counters = counters,
                            .base = base,
                            .at = (const char *)file->data,
                            .end = (const char *)file->data + file->size,
                            .line_number = 1};
    reader.line = reader.at;
    bool ok = read_all(&reader, contexts);
    csp_vec_free(&reader.calls);
    if (ok)
        return 0;
    size_t shown = 0;
    while (shown < 80 && reader.line + shown < reader.end && reader.line[shown] != '\n')
        shown++;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s, line %" PRIu64
                    ": '%.*s': expected counters as --skip-symbolization writes "
                    "them of a profile by %s",
                    file->path, reader.line_number, (int)shown, reader.line,
                    program->uses_probes ? "pseudo-probes" : "lines");
}
