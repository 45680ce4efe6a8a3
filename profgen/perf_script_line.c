#include "profgen/perf_script_line.h"

#include <string.h>

static const int8_t hex_value[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

void csp_text_skip_blanks(struct csp_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
}

/* Takes hexadecimal digits, at most 16; false when there is none. */
bool csp_text_take_hex(struct csp_text *text, uint64_t *value)
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

static bool take_prefixed_hex(struct csp_text *text, uint64_t *value)
{
    if (text->end - text->at < 3 || text->at[0] != '0' || text->at[1] != 'x')
        return false;
    text->at += 2;
    return csp_text_take_hex(text, value);
}

bool csp_text_take_decimal(struct csp_text *text, uint64_t *value)
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

bool csp_text_take_branch(struct csp_text *text, struct csp_branch *branch)
{
    csp_text_skip_blanks(text);
    if (!take_prefixed_hex(text, &branch->from) || text->at == text->end || *text->at++ != '/' ||
        !take_prefixed_hex(text, &branch->to))
        return false;
    while (text->at < text->end && *text->at != ' ' && *text->at != '\t')
        text->at++;
    return true;
}

bool csp_line_next(struct csp_text *rest, struct csp_text *line)
{
    if (rest->at == rest->end)
        return false;
    const char *newline = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    *line = (struct csp_text){rest->at, newline ? newline : rest->end};
    rest->at = newline ? newline + 1 : rest->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

/* A line that starts like a frame: digits alone in hexadecimal, and what perf appends of symbols.
 */
static enum csp_line_kind classify_number(struct csp_text line)
{
    const char *start = line.at;
    uint64_t ip;
    csp_text_skip_blanks(&line);
    bool indented = line.at > start;
    const char *digits = line.at;
    if (!csp_text_take_hex(&line, &ip))
        return CSP_LINE_OTHER;
    size_t length = (size_t)(line.at - digits);
    bool decimal = true;
    for (const char *at = digits; at < line.at; at++)
        decimal = decimal && *at >= '0' && *at <= '9';
    csp_text_skip_blanks(&line);
    if (line.at == line.end)
        return !indented && decimal ? CSP_LINE_COUNT : CSP_LINE_FRAME;
    struct csp_branch branch;
    struct csp_text rest = line;
    if (csp_text_take_branch(&rest, &branch))
        return CSP_LINE_BRANCHES;
    return indented && length >= 4 && line.at[-1] == ' ' ? CSP_LINE_FRAME : CSP_LINE_OTHER;
}

enum csp_line_kind csp_line_classify(struct csp_text line)
{
    struct csp_text content = line;
    csp_text_skip_blanks(&content);
    if (content.at == content.end)
        return CSP_LINE_BLANK;
    struct csp_branch branch;
    struct csp_text rest = content;
    if (csp_text_take_branch(&rest, &branch))
        return CSP_LINE_BRANCHES;
    enum csp_line_kind kind = classify_number(line);
    if (kind != CSP_LINE_OTHER)
        return kind;
    size_t size = (size_t)(line.end - line.at);
    return memmem(line.at, size, "PERF_RECORD_MMAP", 16) ? CSP_LINE_MAPPING : CSP_LINE_OTHER;
}

/* The process that a mapping line is about. */
static bool is_other_process(const struct csp_address_map *map, struct csp_text line)
{
    uint64_t pid;
    const char *slash = memchr(line.at, '/', (size_t)(line.end - line.at));
    if (!map->has_pid || !slash)
        return false;
    struct csp_text number = {slash, slash};
    while (number.at > line.at && number.at[-1] >= '0' && number.at[-1] <= '9')
        number.at--;
    return !csp_text_take_decimal(&number, &pid) || pid != map->pid;
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
static const char *mapped_name(struct csp_text rest, bool kernel)
{
    const char *path = memmem(rest.at, (size_t)(rest.end - rest.at), "]: ", 3);
    path = path ? memchr(path + 3, ' ', (size_t)(rest.end - path - 3)) : NULL;
    if (!path)
        return rest.end;
    const char *slash = kernel ? NULL : memrchr(path, '/', (size_t)(rest.end - path));
    return slash ? slash + 1 : path + 1;
}

/* "PERF_RECORD_MMAP2 PID/TID: [0xSTART(0xSIZE) @ 0xOFFSET …]: r-xp PATH", PERF_RECORD_MMAP too. */
bool csp_line_mapping(struct csp_text line, struct csp_address_map *map)
{
    uint64_t start, size, offset = 0; /* perf prints an offset of zero without 0x */
    const char *open = memchr(line.at, '[', (size_t)(line.end - line.at));
    if (!open)
        return false;
    struct csp_text rest = {open + 1, line.end};
    if (!take_prefixed_hex(&rest, &start) || rest.at == rest.end || *rest.at++ != '(' ||
        !take_prefixed_hex(&rest, &size) || rest.end - rest.at < 4 ||
        memcmp(rest.at, ") @ ", 4) != 0)
        return false;
    rest.at += 4;
    if (!take_prefixed_hex(&rest, &offset) && !(rest.at < rest.end && *rest.at == '0'))
        return false;
    if (is_other_process(map, line))
        return false;
    const char *name = mapped_name(rest, map->kernel);
    size_t length = (size_t)(rest.end - name);
    if (map->kernel)
        return is_kernel_name(name, length) && csp_address_map_add_kernel(map, start, size);
    const char *wanted = map->program->name;
    return strlen(wanted) == length && !memcmp(name, wanted, length) &&
           csp_address_map_add(map, start, size, offset);
}
