/* Reading sysfs and procfs: of this machine, or of a copy of another machine's. */
#ifndef CSP_COLLECT_HOST_TREE_H
#define CSP_COLLECT_HOST_TREE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* Names of files below `root` ("" is this machine) are given as formats: "sys/devices/%s". */
#define CSP_TREE_FORMAT __attribute__((format(printf, 2, 3)))

struct csp_cpu_list { /* ascending */
    CSP_VEC(uint32_t) cpus;
};

bool csp_tree_has(const char *root, const char *format, ...) CSP_TREE_FORMAT;
/* The file's text without the newline at its end, at most 256 kB; null when it cannot be read. */
char *csp_tree_text(const char *root, const char *format, ...) CSP_TREE_FORMAT;
/* A decimal or 0x number at the start of the file; false when there is none. */
bool csp_tree_number(const char *root, int64_t *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct csp_tree_names { /* sorted, numbers in names by value: cpu2 before cpu10 */
    CSP_VEC(char *) names;
};
/* What is in a directory; nothing when it is absent. */
void csp_tree_list(const char *root, struct csp_tree_names *names, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void csp_tree_names_free(struct csp_tree_names *names);

/* "0-3,8": false, and an empty list, when it is anything else. */
bool csp_cpu_list_parse(struct csp_cpu_list *list, const char *text);
bool csp_cpu_list_has(const struct csp_cpu_list *list, uint32_t cpu);
/* The same form as csp_cpu_list_parse takes. Free it. */
char *csp_cpu_list_text(const struct csp_cpu_list *list);
void csp_cpu_list_free(struct csp_cpu_list *list);

#endif
