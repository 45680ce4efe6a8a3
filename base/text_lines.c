#include "base/text_lines.h"

#include <string.h>

struct csp_text_lines csp_text_lines_of(const void *text, size_t size)
{
    const char *begin = text;
    return (struct csp_text_lines){
        .at = begin, .line = begin, .line_end = begin, .next = begin, .end = begin + size};
}

bool csp_text_lines_next(struct csp_text_lines *lines)
{
    if (lines->next == lines->end)
        return false;
    lines->at = lines->line = lines->next;
    const char *newline = memchr(lines->line, '\n', (size_t)(lines->end - lines->line));
    lines->line_end = newline ? newline : lines->end;
    lines->next = newline ? newline + 1 : lines->end;
    if (lines->line_end > lines->line && lines->line_end[-1] == '\r')
        lines->line_end--;
    lines->number++;
    return true;
}

bool csp_text_lines_at_end(const struct csp_text_lines *lines)
{
    return lines->at == lines->line_end;
}

bool csp_text_lines_take(struct csp_text_lines *lines, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(lines->line_end - lines->at) < size || memcmp(lines->at, text, size) != 0)
        return false;
    lines->at += size;
    return true;
}

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
}

bool csp_text_lines_take_number(struct csp_text_lines *lines, unsigned base, uint64_t *value)
{
    const char *start = lines->at;
    for (*value = 0; lines->at < lines->line_end && digit(*lines->at) < base; lines->at++)
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, digit(*lines->at), value))
            return false;
    return lines->at > start;
}

size_t csp_text_lines_take_bytes(struct csp_text_lines *lines, uint8_t *bytes, size_t room)
{
    size_t taken = 0;
    for (; taken < room && lines->line_end - lines->at >= 2; lines->at += 2) {
        unsigned high = digit(lines->at[0]), low = digit(lines->at[1]);
        if (high > 15 || low > 15)
            break;
        bytes[taken++] = (uint8_t)(high << 4 | low);
    }
    return taken;
}

void csp_text_lines_skip_blanks(struct csp_text_lines *lines)
{
    while (lines->at < lines->line_end && (*lines->at == ' ' || *lines->at == '\t'))
        lines->at++;
}
