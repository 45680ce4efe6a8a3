#include "decode/ini.h"

#include "base/file.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A copy of [from, to) without the white space at both ends. */
static const char *keep(struct csp_ini *ini, const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    size_t size = (size_t)(to - from);
    char *text = csp_arena_alloc(&ini->arena, size + 1);
    memcpy(text, from, size);
    text[size] = '\0';
    return text;
}

/* Takes one line; false when it is none that an ini file has. */
static bool read_line(struct csp_ini *ini, const char **section, const char *line, const char *end)
{
    while (line < end && isspace((unsigned char)*line))
        line++;
    while (end > line && isspace((unsigned char)end[-1]))
        end--;
    if (line == end || *line == ';' || *line == '#')
        return true;
    if (*line == '[') {
        if (end[-1] != ']')
            return false;
        *section = keep(ini, line + 1, end - 1);
        return true;
    }
    const char *equals = memchr(line, '=', (size_t)(end - line));
    if (!equals || memchr(line, '\0', (size_t)(end - line)))
        return false;
    csp_vec_push(&ini->entries, (struct csp_ini_entry){*section, keep(ini, line, equals),
                                                       keep(ini, equals + 1, end)});
    return true;
}

int csp_ini_read(struct csp_ini *ini, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    const char *at = (const char *)file.data, *end = at + file.size;
    const char *section = "";
    for (unsigned number = 1; at < end && !error; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        if (!read_line(ini, &section, at, stop))
            error = csp_fail(diag, CSP_ERR_INPUT,
                             "%s:%u: expected [section], key=value or a comment", path, number);
        at = stop + 1;
    }
    csp_file_unmap(&file);
    return error;
}

const char *csp_ini_find(const struct csp_ini *ini, const char *section, const char *key)
{
    for (size_t i = 0; i < ini->entries.len; i++) {
        const struct csp_ini_entry *entry = &ini->entries.data[i];
        if (!strcasecmp(entry->section, section) && !strcasecmp(entry->key, key))
            return entry->value;
    }
    return NULL;
}

void csp_ini_free(struct csp_ini *ini)
{
    csp_vec_free(&ini->entries);
    csp_arena_free(&ini->arena);
}
