/* The lines of a perf-script text: what each one is, and what is in it. Inside of profgen only. */
#ifndef CSP_PROFGEN_PERF_SCRIPT_LINE_H
#define CSP_PROFGEN_PERF_SCRIPT_LINE_H

#include "decode/sample.h"
#include "profgen/address_map.h"

/* A piece of the text: [at, end). */
struct csp_text {
    const char *at, *end;
};

enum csp_line_kind {
    CSP_LINE_BLANK,
    CSP_LINE_COUNT,
    CSP_LINE_FRAME,
    CSP_LINE_BRANCHES,
    CSP_LINE_MAPPING,
    CSP_LINE_OTHER,
};

/* Takes the next line, without what ends it; false at the end of the text. */
bool csp_line_next(struct csp_text *rest, struct csp_text *line);
enum csp_line_kind csp_line_classify(struct csp_text line);

void csp_text_skip_blanks(struct csp_text *text);
/* Each takes what it names from the front of a text; false when there is something else. */
bool csp_text_take_hex(struct csp_text *text, uint64_t *value); /* at most 16 digits */
bool csp_text_take_decimal(struct csp_text *text, uint64_t *value);
bool csp_text_take_branch(struct csp_text *text, struct csp_branch *branch);

/* Adds what a mapping line tells to a map. Returns whether it was of the binary. */
bool csp_line_mapping(struct csp_text line, struct csp_address_map *map);

#endif
