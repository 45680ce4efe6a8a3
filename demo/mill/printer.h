/* A growing buffer of bytes, and values as text. */
#ifndef MILL_PRINTER_H
#define MILL_PRINTER_H

#include "value.h"

struct buffer {
    char *bytes;
    size_t length, room;
};

void buffer_add(struct buffer *buffer, const char *bytes, size_t length);
void buffer_add_char(struct buffer *buffer, char c);
void buffer_free(struct buffer *buffer);

enum style {
    PLAIN,  /* as print shows it: texts bare */
    QUOTED, /* as inside a list: texts in quotes, with escapes */
};
void value_format(struct buffer *buffer, struct value value, enum style style);

#endif
