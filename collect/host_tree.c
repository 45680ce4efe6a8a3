#include "collect/host_tree.h"

#include "base/buf.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 256 * 1024, CPU_MAX = 1 << 16 };

static char *path_of(const char *root, const char *format, va_list args)
{
    char *name = csp_vasprintf(format, args);
    char *path = csp_asprintf("%s/%s", root, name);
    free(name);
    return path;
}

static char *read_text(char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return NULL;
    struct csp_buf text = {0};
    ssize_t got = 1;
    while (got > 0 && text.len < TEXT_MAX) {
        got = read(fd, csp_buf_reserve(&text, 4096), 4096);
        if (got > 0)
            text.len += (size_t)got;
    }
    close(fd);
    if (got < 0) {
        csp_buf_free(&text);
        return NULL;
    }
    while (text.len && text.data[text.len - 1] == '\n')
        text.len--;
    csp_buf_add_char(&text, '\0');
    return text.data;
}

bool csp_tree_has(const char *root, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *path = path_of(root, format, args);
    va_end(args);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

char *csp_tree_text(const char *root, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *path = path_of(root, format, args);
    va_end(args);
    return read_text(path);
}

bool csp_tree_number(const char *root, int64_t *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = read_text(path_of(root, format, args)), *end;
    va_end(args);
    if (!text)
        return false;
    long long signed_value = strtoll(text, &end, 0);
    if (end != text && signed_value == INT64_MAX) /* addresses and masks fill all 64 bits */
        signed_value = (long long)strtoull(text, &end, 0);
    bool good = end != text;
    if (good)
        *value = signed_value;
    free(text);
    return good;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

void csp_tree_list(const char *root, struct csp_tree_names *names, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *path = path_of(root, format, args);
    va_end(args);
    *names = (struct csp_tree_names){0};
    DIR *directory = opendir(path);
    free(path);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            csp_vec_push(&names->names, csp_strdup(entry->d_name));
    if (directory)
        closedir(directory);
    if (names->names.len)
        qsort(names->names.data, names->names.len, sizeof *names->names.data, by_name);
}

void csp_tree_names_free(struct csp_tree_names *names)
{
    for (size_t i = 0; i < names->names.len; i++)
        free(names->names.data[i]);
    csp_vec_free(&names->names);
}

static bool parse_cpu(const char **at, uint32_t *cpu)
{
    if (**at < '0' || **at > '9')
        return false;
    char *end;
    unsigned long value = strtoul(*at, &end, 10);
    *at = end;
    *cpu = (uint32_t)value;
    return value < CPU_MAX;
}

static bool parse_list(struct csp_cpu_list *list, const char *at)
{
    for (;;) {
        uint32_t first, last;
        if (!parse_cpu(&at, &first))
            return false;
        last = first;
        if (*at == '-' && (at++, !parse_cpu(&at, &last)))
            return false;
        uint32_t next =
            list->cpus.len ? list->cpus.data[list->cpus.len - 1] + 1 : 0; /* ascending */
        if (last < first || first < next)
            return false;
        for (uint32_t cpu = first; cpu <= last; cpu++)
            csp_vec_push(&list->cpus, cpu);
        if (!*at)
            return true;
        if (*at++ != ',')
            return false;
    }
}

bool csp_cpu_list_parse(struct csp_cpu_list *list, const char *text)
{
    *list = (struct csp_cpu_list){0};
    bool good = parse_list(list, text);
    if (!good)
        csp_cpu_list_free(list);
    return good;
}

bool csp_cpu_list_has(const struct csp_cpu_list *list, uint32_t cpu)
{
    for (size_t i = 0; i < list->cpus.len; i++)
        if (list->cpus.data[i] == cpu)
            return true;
    return false;
}

char *csp_cpu_list_text(const struct csp_cpu_list *list)
{
    struct csp_buf text = {0};
    csp_buf_add_string(&text, "");
    for (size_t i = 0; i < list->cpus.len;) {
        size_t last = i;
        while (last + 1 < list->cpus.len && list->cpus.data[last + 1] == list->cpus.data[last] + 1)
            last++;
        csp_buf_printf(&text, "%s%u", i ? "," : "", list->cpus.data[i]);
        if (last > i)
            csp_buf_printf(&text, "-%u", list->cpus.data[last]);
        i = last + 1;
    }
    return text.data;
}

void csp_cpu_list_free(struct csp_cpu_list *list)
{
    csp_vec_free(&list->cpus);
}
