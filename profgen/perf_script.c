#include "profgen/perf_script.h"

#include <string.h>

/* A piece of the text: [at, end). */
struct text {
    const char *at, *end;
};

enum line_kind { LINE_BLANK, LINE_COUNT, LINE_FRAME, LINE_BRANCHES, LINE_MAPPING, LINE_OTHER };

static const int8_t hex_value[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static void skip_spaces(struct text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
}

/* Takes hexadecimal digits, at most 16; false when there is none. */
static bool take_hex(struct text *text, uint64_t *value)
{
    const char *at = text->at;
    uint64_t result = 0;
    while (at < text->end && hex_value[(uint8_t)*at])
        result = result << 4 | (uint64_t)(hex_value[(uint8_t)*at++] - 1);
    bool ok = at > text->at && at - text->at <= 16;
    text->at = at;
    *value = result;
    return ok;
}

static bool take_prefixed_hex(struct text *text, uint64_t *value)
{
    if (text->end - text->at < 3 || text->at[0] != '0' || text->at[1] != 'x')
        return false;
    text->at += 2;
    return take_hex(text, value);
}

static bool take_decimal(struct text *text, uint64_t *value)
{
    const char *at = text->at;
    uint64_t result = 0;
    while (at < text->end && *at >= '0' && *at <= '9' && result < UINT64_MAX / 16)
        result = result * 10 + (uint64_t)(*at++ - '0');
    bool ok = at > text->at;
    text->at = at;
    *value = result;
    return ok;
}

static bool take_branch(struct text *text, struct csp_branch *branch)
{
    skip_spaces(text);
    if (!take_prefixed_hex(text, &branch->from) || text->at == text->end || *text->at++ != '/' ||
        !take_prefixed_hex(text, &branch->to))
        return false;
    while (text->at < text->end && *text->at != ' ' && *text->at != '\t')
        text->at++;
    return true;
}

static bool next_line(struct text *rest, struct text *line)
{
    if (rest->at == rest->end)
        return false;
    const char *newline = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    *line = (struct text){rest->at, newline ? newline : rest->end};
    rest->at = newline ? newline + 1 : rest->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

/* A line that starts like a frame: digits alone in hexadecimal, and what perf appends of symbols.
 */
static enum line_kind classify_number(struct text line)
{
    const char *start = line.at;
    uint64_t ip;
    skip_spaces(&line);
    bool indented = line.at > start;
    const char *digits = line.at;
    if (!take_hex(&line, &ip))
        return LINE_OTHER;
    size_t length = (size_t)(line.at - digits);
    bool decimal = true;
    for (const char *at = digits; at < line.at; at++)
        decimal = decimal && *at >= '0' && *at <= '9';
    skip_spaces(&line);
    if (line.at == line.end)
        return !indented && decimal ? LINE_COUNT : LINE_FRAME;
    struct csp_branch branch;
    struct text rest = line;
    if (take_branch(&rest, &branch))
        return LINE_BRANCHES;
    return indented && length >= 4 && line.at[-1] == ' ' ? LINE_FRAME : LINE_OTHER;
}

static enum line_kind classify(struct text line)
{
    struct text content = line;
    skip_spaces(&content);
    if (content.at == content.end)
        return LINE_BLANK;
    struct csp_branch branch;
    struct text rest = content;
    if (take_branch(&rest, &branch))
        return LINE_BRANCHES;
    enum line_kind kind = classify_number(line);
    if (kind != LINE_OTHER)
        return kind;
    size_t size = (size_t)(line.end - line.at);
    return memmem(line.at, size, "PERF_RECORD_MMAP", 16) ? LINE_MAPPING : LINE_OTHER;
}

int csp_perf_script_has_callchains(const struct csp_file *file, bool *has, struct csp_diag *diag)
{
    struct text rest = {(const char *)file->data, (const char *)file->data + file->size}, line;
    bool frames = false;
    while (next_line(&rest, &line)) {
        enum line_kind kind = classify(line);
        if (kind == LINE_BRANCHES) {
            *has = frames;
            return 0;
        }
        frames = kind == LINE_FRAME;
    }
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s has no sample with branches in it: expected lines like "
                    "' 0x4005c8/0x4005dc/P/-/-/0 …', as `perf script -F ip,brstack "
                    "--show-mmap-events` writes them",
                    file->path);
}

struct reader {
    struct csp_address_map *map;
    struct csp_sample_set *set;
    struct csp_perf_script_stats *stats;
    CSP_VEC(uint64_t) frames;
    CSP_VEC(struct csp_branch) branches;
    uint64_t count;
};

/* The process that a mapping line is about. */
static bool is_other_process(const struct csp_address_map *map, struct text line)
{
    uint64_t pid;
    const char *slash = memchr(line.at, '/', (size_t)(line.end - line.at));
    if (!map->has_pid || !slash)
        return false;
    struct text number = {slash, slash};
    while (number.at > line.at && number.at[-1] >= '0' && number.at[-1] <= '9')
        number.at--;
    return !take_decimal(&number, &pid) || pid != map->pid;
}

static bool is_kernel_name(const char *name, size_t length)
{
    static const char kernel[] = "[kernel.kallsyms]";
    size_t size = sizeof kernel - 1;
    if (length < size || memcmp(name, kernel, size) != 0)
        return false;
    return length == size || (length == size + 6 && !memcmp(name + size, "_stext", 6)) ||
           (length == size + 5 && !memcmp(name + size, "_text", 5));
}

/* What the rest of a mapping line, " …]: r-xp PATH" (of PERF_RECORD_MMAP, " …]: x PATH"), tells of
 * a path: the last component of a file's, which may have no slash, or all of the kernel's. */
static const char *mapped_name(struct text rest, bool kernel)
{
    const char *path = memmem(rest.at, (size_t)(rest.end - rest.at), "]: ", 3);
    path = path ? memchr(path + 3, ' ', (size_t)(rest.end - path - 3)) : NULL;
    if (!path)
        return rest.end;
    const char *slash = kernel ? NULL : memrchr(path, '/', (size_t)(rest.end - path));
    return slash ? slash + 1 : path + 1;
}

/* "PERF_RECORD_MMAP2 PID/TID: [0xSTART(0xSIZE) @ 0xOFFSET …]: r-xp PATH", PERF_RECORD_MMAP too. */
static void read_mapping(struct reader *reader, struct text line)
{
    uint64_t start, size, offset = 0; /* perf prints an offset of zero without 0x */
    reader->stats->mappings++;
    const char *open = memchr(line.at, '[', (size_t)(line.end - line.at));
    if (!open)
        return;
    struct text rest = {open + 1, line.end};
    if (!take_prefixed_hex(&rest, &start) || rest.at == rest.end || *rest.at++ != '(' ||
        !take_prefixed_hex(&rest, &size) || rest.end - rest.at < 4 ||
        memcmp(rest.at, ") @ ", 4) != 0)
        return;
    rest.at += 4;
    if (!take_prefixed_hex(&rest, &offset) && !(rest.at < rest.end && *rest.at == '0'))
        return;
    struct csp_address_map *map = reader->map;
    if (is_other_process(map, line))
        return;
    const char *name = mapped_name(rest, map->kernel);
    size_t length = (size_t)(rest.end - name);
    const char *wanted = map->program->name;
    bool used;
    if (map->kernel)
        used = is_kernel_name(name, length) && csp_address_map_add_kernel(map, start, size);
    else
        used = strlen(wanted) == length && !memcmp(name, wanted, length) &&
               csp_address_map_add(map, start, size, offset);
    reader->stats->mappings_used += used;
}

static void finish_sample(struct reader *reader)
{
    struct csp_sample sample = {
        .count = reader->count,
        .ip = reader->frames.len ? reader->frames.data[0] : 0,
        .callchain = reader->frames.data,
        .callchain_len = (uint32_t)reader->frames.len,
        .branches = reader->branches.data,
        .branch_len = (uint32_t)reader->branches.len,
        .verdict = CSP_VERDICT_NATIVE,
    };
    if (sample.callchain_len || sample.branch_len)
        csp_sample_set_add(reader->set, reader->map->program, &sample);
    reader->frames.len = reader->branches.len = 0;
    reader->count = 1;
}

static void read_frame(struct reader *reader, struct text line)
{
    uint64_t address;
    skip_spaces(&line);
    take_hex(&line, &address);
    csp_vec_push(&reader->frames, csp_address_map_find(reader->map, address));
}

static void read_branches(struct reader *reader, struct text line)
{
    struct csp_branch branch = {0};
    struct text first = line;
    if (!take_branch(&first, &branch)) {
        /* The sample's own address, which stands before its branches when it has no callchain. */
        skip_spaces(&line);
        take_hex(&line, &branch.from);
    }
    for (skip_spaces(&line); line.at < line.end; skip_spaces(&line)) {
        if (!take_branch(&line, &branch)) {
            reader->stats->bad_branches++;
            break;
        }
        branch.from = csp_address_map_find(reader->map, branch.from);
        branch.to = csp_address_map_find(reader->map, branch.to);
        csp_vec_push(&reader->branches, branch);
    }
    finish_sample(reader);
}

static void read_line(struct reader *reader, struct text line)
{
    switch (classify(line)) {
    case LINE_BLANK:
        finish_sample(reader);
        break;
    case LINE_COUNT:
        finish_sample(reader);
        take_decimal(&line, &reader->count);
        break;
    case LINE_FRAME:
        read_frame(reader, line);
        break;
    case LINE_BRANCHES:
        read_branches(reader, line);
        break;
    case LINE_MAPPING:
        finish_sample(reader);
        read_mapping(reader, line);
        break;
    case LINE_OTHER:
        finish_sample(reader);
        reader->stats->other_lines++;
        break;
    }
}

void csp_perf_script_read(const struct csp_file *file, struct csp_address_map *map,
                          struct csp_sample_set *set, struct csp_perf_script_stats *stats)
{
    struct reader reader = {.map = map, .set = set, .stats = stats, .count = 1};
    struct text rest = {(const char *)file->data, (const char *)file->data + file->size}, line;
    while (next_line(&rest, &line))
        read_line(&reader, line);
    finish_sample(&reader);
    csp_vec_free(&reader.frames);
    csp_vec_free(&reader.branches);
}
