#include "profgen/branch_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/saturate.h"
#include "base/text_lines.h"

struct item {
    uint64_t from, to, count;
};

struct reader {
    const struct csp_file *file;
    const struct csp_program *program;
    struct csp_counters *counters;
    struct csp_branch_list_stats *stats;
    struct csp_diag *diag;
    struct csp_text_lines lines;
    CSP_VEC(struct item) ranges, branches;
    uint64_t singles;
    struct csp_build_id id; /* of the binary being read */
};

static int fail(const struct reader *reader, const char *expected)
{
    return csp_fail(reader->diag, CSP_ERR_INPUT, "%s, line %" PRIu64 ": expected %s",
                    reader->file->path, reader->lines.number, expected);
}

/* FROM, and after `between` (which may be null) TO, then ":COUNT". */
static bool take_item(struct csp_text_lines *lines, const char *between, struct item *item)
{
    *item = (struct item){0};
    return csp_text_lines_take_number(lines, 16, &item->from) &&
           (!between || (csp_text_lines_take(lines, between) &&
                         csp_text_lines_take_number(lines, 16, &item->to))) &&
           csp_text_lines_take(lines, ":") && csp_text_lines_take_number(lines, 10, &item->count) &&
           csp_text_lines_at_end(lines);
}

/* A number of lines, and so many lines; the first line is there. */
static int read_table(struct reader *reader, const char *between, const char *expected)
{
    struct csp_text_lines *lines = &reader->lines;
    uint64_t count;
    if (!csp_text_lines_take_number(lines, 10, &count) || !csp_text_lines_at_end(lines))
        return fail(reader, "how many lines follow");
    for (uint64_t i = 0; i < count; i++) {
        struct item item;
        if (!csp_text_lines_next(lines) || !take_item(lines, between, &item))
            return fail(reader, expected);
        if (!between)
            reader->singles = csp_add_saturating(reader->singles, item.count);
        else if (*between == '-' && between[1])
            csp_vec_push(&reader->branches, item);
        else
            csp_vec_push(&reader->ranges, item);
    }
    return 0;
}

static int read_build_id(struct reader *reader)
{
    struct csp_text_lines *lines = &reader->lines;
    struct csp_build_id *id = &reader->id;
    *id = (struct csp_build_id){0};
    if (!csp_text_lines_next(lines) || !csp_text_lines_take(lines, "// build_id: 0x"))
        return fail(reader, "'// build_id: 0x' and a number");
    id->size = (uint8_t)csp_text_lines_take_bytes(lines, id->bytes, sizeof id->bytes);
    if (!csp_text_lines_at_end(lines))
        return fail(reader, "a build-id of at most 20 bytes");
    uint8_t any = 0;
    for (uint8_t i = 0; i < id->size; i++)
        any |= id->bytes[i];
    if (!any)
        id->size = 0;
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
    const struct csp_text_lines *lines = &reader->lines;
    const char *slash = memrchr(lines->at, '/', (size_t)(lines->line_end - lines->at));
    const char *name = slash ? slash + 1 : lines->at;
    size_t length = (size_t)(lines->line_end - name);
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
    stats->single_addresses = csp_add_saturating(stats->single_addresses, reader->singles);
}

/* The tables of one binary and what follows them; the first line is there. */
static int read_binary(struct reader *reader)
{
    reader->ranges.len = reader->branches.len = 0;
    reader->singles = 0;
    int error = read_table(reader, "-", "a range FIRST-LAST:COUNT");
    if (!error && !csp_text_lines_next(&reader->lines))
        error = fail(reader, "how many addresses follow");
    if (!error)
        error = read_table(reader, NULL, "an address ADDRESS:COUNT");
    if (!error && !csp_text_lines_next(&reader->lines))
        error = fail(reader, "how many branches follow");
    if (!error)
        error = read_table(reader, "->", "a branch FROM->TO:COUNT");
    if (!error)
        error = read_build_id(reader);
    if (!error &&
        (!csp_text_lines_next(&reader->lines) || !csp_text_lines_take(&reader->lines, "// ")))
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
    struct reader reader = {.file = file,
                            .program = program,
                            .counters = counters,
                            .stats = stats,
                            .diag = diag,
                            .lines = csp_text_lines_of(file->data, file->size)};
    int error = 0;
    while (!error && csp_text_lines_next(&reader.lines))
        if (!csp_text_lines_at_end(&reader.lines))
            error = read_binary(&reader);
    csp_vec_free(&reader.ranges);
    csp_vec_free(&reader.branches);
    if (!error && stats->binaries == stats->other_binaries)
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s tells of %" PRIu64 " binaries, and none of them is %s", file->path,
                         stats->binaries, program->path);
    return error;
}
