#include "printer.h"

#include "hashtable.h"
#include "mergesort.h"

#include <stdlib.h>
#include <string.h>

static void buffer_grow(struct buffer *buffer, size_t more)
{
    while (buffer->room < buffer->length + more)
        buffer->room = buffer->room ? buffer->room * 2 : 256;
    buffer->bytes = realloc(buffer->bytes, buffer->room);
    if (!buffer->bytes)
        fatal("out of memory");
}

void buffer_add(struct buffer *buffer, const char *bytes, size_t length)
{
    if (buffer->room - buffer->length < length)
        buffer_grow(buffer, length);
    if (length)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

void buffer_add_char(struct buffer *buffer, char c)
{
    if (buffer->length == buffer->room)
        buffer_grow(buffer, 1);
    buffer->bytes[buffer->length++] = c;
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

static void format_number(struct buffer *buffer, int64_t number)
{
    char digits[24];
    size_t first = sizeof(digits);
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--first] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0)
        digits[--first] = '-';
    buffer_add(buffer, digits + first, sizeof(digits) - first);
}

static void format_text(struct buffer *buffer, const struct text *text, enum style style)
{
    if (style == PLAIN) {
        buffer_add(buffer, text->bytes, text->length);
        return;
    }
    buffer_add_char(buffer, '"');
    for (size_t i = 0; i < text->length; i++) {
        char c = text->bytes[i];
        if (c == '"' || c == '\\')
            buffer_add_char(buffer, '\\');
        if (c == '\n')
            buffer_add(buffer, "\\n", 2);
        else
            buffer_add_char(buffer, c);
    }
    buffer_add_char(buffer, '"');
}

static void format_list(struct buffer *buffer, const struct list *list)
{
    buffer_add_char(buffer, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i)
            buffer_add(buffer, ", ", 2);
        value_format(buffer, list->items[i], QUOTED);
    }
    buffer_add_char(buffer, ']');
}

/* By key, so that equal dicts look equal however they were filled. */
static void format_dict(struct buffer *buffer, struct table *table)
{
    struct value *keys = malloc((table->count + 1) * sizeof(*keys));
    if (!keys)
        fatal("out of memory");
    for (size_t i = 0; i < table->count; i++)
        keys[i] = table->entries[i].key;
    sort_values(keys, table->count, &natural_order);
    buffer_add_char(buffer, '{');
    for (size_t i = 0; i < table->count; i++) {
        if (i)
            buffer_add(buffer, ", ", 2);
        value_format(buffer, keys[i], QUOTED);
        buffer_add(buffer, ": ", 2);
        value_format(buffer, table_find(table, keys[i], MUST_EXIST)->value, QUOTED);
    }
    buffer_add_char(buffer, '}');
    free(keys);
}

static void format_word(struct buffer *buffer, const char *word)
{
    buffer_add(buffer, word, strlen(word));
}

void value_format(struct buffer *buffer, struct value value, enum style style)
{
    switch (value.kind) {
    case NIL:
        format_word(buffer, "nil");
        break;
    case BOOL:
        format_word(buffer, value.number ? "true" : "false");
        break;
    case NUMBER:
        format_number(buffer, value.number);
        break;
    case TEXT:
        format_text(buffer, value.text, style);
        break;
    case LIST:
        format_list(buffer, value.list);
        break;
    case DICT:
        format_dict(buffer, value.dict);
        break;
    default:
        format_word(buffer, kind_name(value.kind));
    }
}
