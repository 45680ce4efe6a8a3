#include "profgen/branch_list.h"

#include <inttypes.h>
#include <string.h>

struct item {
    uint64_t from, to, count;
};

struct reader {
    const struct csp_file *file;
    const struct csp_program *program;
    struct csp_counters *counters;
    struct csp_branch_list_stats *stats;
    struct csp_diag *diag;
    const char *at, *end, *line_end; /* the line being read: [at, line_end) */
    uint64_t line_number;
    CSP_VEC(struct item) ranges, branches;
    uint64_t singles;
    struct csp_build_id id; /* of the binary being read */
};

static bool next_line(struct reader *reader)
{
    if (reader->line_number++)
        reader->at = reader->line_end < reader->end ? reader->line_end + 1 : reader->end;
    if (reader->at == reader->end)
        return false;
    const char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->line_end = newline ? newline : reader->end;
    return true;
}

static int fail(const struct reader *reader, const char *expected)
{
    return csp_fail(reader->diag, CSP_ERR_INPUT, "%s, line %" PRIu64 ": expected %s",
                    reader->file->path, reader->line_number, expected);
}

static bool take(struct reader *reader, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(reader->line_end - reader->at) < size || memcmp(reader->at, text, size) != 0)
        return false;
    reader->at += size;
    return true;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static bool take_number(struct reader *reader, int base, uint64_t *value)
{
    const char *start = reader->at;
    for (*value = 0; reader->at < reader->line_end && digit(*reader->at) < base; reader->at++) {
        if (*value > UINT64_MAX / 16 / (uint64_t)base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit(*reader->at);
    }
    return reader->at > start;
}

/* FROM, and after `between` (which may be null) TO, then ":COUNT". */
static bool take_item(struct reader *reader, const char *between, struct item *item)
{
    *item = (struct item){0};
    return take_number(reader, 16, &item->from) &&
           (!between || (take(reader, between) && take_number(reader, 16, &item->to))) &&
           take(reader, ":") && take_number(reader, 10, &item->count) &&
           reader->at == reader->line_end;
}

static bool is_blank(const struct reader *reader)
{
    return reader->at == reader->line_end;
}

/* A number of lines, and so many lines; the first line is there. */
static int read_table(struct reader *reader, const char *between, const char *expected)
{
    uint64_t count;
    if (!take_number(reader, 10, &count) || !is_blank(reader))
        return fail(reader, "how many lines follow");
    for (uint64_t i = 0; i < count; i++) {
        struct item item;
        if (!next_line(reader) || !take_item(reader, between, &item))
            return fail(reader, expected);
        if (!between)
            reader->singles += item.count;
        else if (*between == '-' && between[1])
            csp_vec_push(&reader->branches, item);
        else
            csp_vec_push(&reader->ranges, item);
    }
    return 0;
}

static int read_build_id(struct reader *reader)
{
    reader->id = (struct csp_build_id){0};
    if (!next_line(reader) || !take(reader, "// build_id: 0x"))
        return fail(reader, "'// build_id: 0x' and a number");
    uint8_t any = 0;
    while (reader->line_end - reader->at >= 2 && reader->id.size < sizeof reader->id.bytes) {
        int high = digit(reader->at[0]), low = digit(reader->at[1]);
        if (high > 15 || low > 15)
            break;
        any |= reader->id.bytes[reader->id.size++] = (uint8_t)(high << 4 | low);
        reader->at += 2;
    }
    if (!is_blank(reader))
        return fail(reader, "a build-id of at most 20 bytes");
    if (!any)
        reader->id.size = 0;
    return 0;
}

/* Build-ids are padded with zeros to 20 bytes. */
static bool same_build_id(const struct csp_build_id *padded, const struct csp_build_id *id)
{
    return padded->size >= id->size && !memcmp(padded->bytes, id->bytes, id->size);
}

static bool is_program(const struct reader *reader)
{
    if (reader->id.size && reader->program->build_id.size)
        return same_build_id(&reader->id, &reader->program->build_id);
    const char *slash = memrchr(reader->at, '/', (size_t)(reader->line_end - reader->at));
    const char *name = slash ? slash + 1 : reader->at;
    size_t length = (size_t)(reader->line_end - name);
    return strlen(reader->program->name) == length && !memcmp(reader->program->name, name, length);
}

static void add_counts(struct reader *reader)
{
    const struct csp_code *code = &reader->program->code;
    struct csp_branch_list_stats *stats = reader->stats;
    uint32_t context = csp_counters_context(reader->counters, NULL, 0);
    for (size_t i = 0; i < reader->ranges.len; i++) {
        struct item item = reader->ranges.data[i], *range = &item;
        range->from = csp_program_at_offset(reader->program, range->from);
        range->to = csp_program_at_offset(reader->program, range->to);
        if (!csp_code_is_instruction(code, range->from) ||
            !csp_code_is_instruction(code, range->to))
            stats->ranges_outside += range->count;
        else if (!csp_code_falls_through(code, range->from, range->to, false))
            stats->ranges_impossible += range->count;
        else
            csp_counters_add(&reader->counters->ranges, context, range->from, range->to,
                             range->count);
    }
    for (size_t i = 0; i < reader->branches.len; i++) {
        struct item item = reader->branches.data[i], *branch = &item;
        branch->from = csp_program_at_offset(reader->program, branch->from);
        branch->to = csp_program_at_offset(reader->program, branch->to);
        if (!csp_code_is_instruction(code, branch->from) ||
            !csp_code_is_instruction(code, branch->to))
            stats->branches_outside += branch->count;
        else
            csp_counters_add(&reader->counters->branches, context, branch->from, branch->to,
                             branch->count);
    }
    stats->ranges += reader->ranges.len;
    stats->branches += reader->branches.len;
    stats->single_addresses += reader->singles;
}

/* The tables of one binary and what follows them; the first line is there. */
static int read_binary(struct reader *reader)
{
    reader->ranges.len = reader->branches.len = 0;
    reader->singles = 0;
    int error = read_table(reader, "-", "a range FIRST-LAST:COUNT");
    if (!error && !next_line(reader))
        error = fail(reader, "how many addresses follow");
    if (!error)
        error = read_table(reader, NULL, "an address ADDRESS:COUNT");
    if (!error && !next_line(reader))
        error = fail(reader, "how many branches follow");
    if (!error)
        error = read_table(reader, "->", "a branch FROM->TO:COUNT");
    if (!error)
        error = read_build_id(reader);
    if (!error && (!next_line(reader) || !take(reader, "// ")))
        error = fail(reader, "'// ' and the path of the binary");
    if (error)
        return error;
    reader->stats->binaries++;
    if (is_program(reader))
        add_counts(reader);
    else
        reader->stats->other_binaries++;
    return 0;
}

int csp_branch_list_read(const struct csp_file *file, const struct csp_program *program,
                         struct csp_counters *counters, struct csp_branch_list_stats *stats,
                         struct csp_diag *diag)
{
    const char *text = (const char *)file->data;
    struct reader reader = {.file = file,
                            .program = program,
                            .counters = counters,
                            .stats = stats,
                            .diag = diag,
                            .at = text,
                            .end = text + file->size};
    int error = 0;
    while (!error && next_line(&reader))
        if (!is_blank(&reader))
            error = read_binary(&reader);
    csp_vec_free(&reader.ranges);
    csp_vec_free(&reader.branches);
    if (!error && stats->binaries == stats->other_binaries)
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s tells of %" PRIu64 " binaries, and none of them is %s", file->path,
                         stats->binaries, program->path);
    return error;
}
