/* Texts that are read line by line, and each line from left to right. */
#ifndef CSP_BASE_TEXT_LINES_H
#define CSP_BASE_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text stays the caller's. */
struct csp_text_lines {
    const char *at;         /* what is read next of the line [line, line_end) */
    const char *line;       /* where the line begins, */
    const char *line_end;   /* and its "\n" or "\r\n", or the end of the text */
    const char *next, *end; /* the line behind it; the end of the text */
    uint64_t number;        /* of the line, from 1 */
};

/* Before the first line. */
struct csp_text_lines csp_text_lines_of(const void *text, size_t size);
/* Goes on to the next line; false behind the last one. */
bool csp_text_lines_next(struct csp_text_lines *lines);
/* Nothing is left of the line. */
bool csp_text_lines_at_end(const struct csp_text_lines *lines);

/* These read what stands there in the line, or return false; where a number stops is then not said.
 */
bool csp_text_lines_take(struct csp_text_lines *lines, const char *text);
/* Base 10 or 16, in letters of either case, and without 0x; false, too, when it does not fit. */
bool csp_text_lines_take_number(struct csp_text_lines *lines, unsigned base, uint64_t *value);
/* Pairs of hexadecimal digits, at most `room` of them; returns how many. */
size_t csp_text_lines_take_bytes(struct csp_text_lines *lines, uint8_t *bytes, size_t room);
void csp_text_lines_skip_blanks(struct csp_text_lines *lines);

#endif
