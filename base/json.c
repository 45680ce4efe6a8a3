#include "base/json.h"

#include <math.h>

static void add_quoted(struct csp_buf *out, const char *text)
{
    csp_buf_add_char(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            csp_buf_printf(out, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            csp_buf_printf(out, "\\u%04x", *c);
        else
            csp_buf_add_char(out, *c);
    }
    csp_buf_add_char(out, '"');
}

static void new_line(struct csp_json *json)
{
    csp_buf_add_char(json->out, '\n');
    for (unsigned i = 0; i < json->depth; i++)
        csp_buf_add_string(json->out, "  ");
}

static void begin_member(struct csp_json *json, const char *key)
{
    if (json->filled)
        csp_buf_add_char(json->out, ',');
    if (json->depth)
        new_line(json);
    json->filled = true;
    if (!key)
        return;
    add_quoted(json->out, key);
    csp_buf_add_string(json->out, ": ");
}

static void open_container(struct csp_json *json, const char *key, bool array)
{
    begin_member(json, key);
    csp_buf_add_char(json->out, array ? '[' : '{');
    json->depth++;
    json->arrays &= ~(UINT64_C(1) << json->depth);
    json->arrays |= (uint64_t)array << json->depth;
    json->filled = false;
}

void csp_json_object(struct csp_json *json, const char *key)
{
    open_container(json, key, false);
}

void csp_json_array(struct csp_json *json, const char *key)
{
    open_container(json, key, true);
}

void csp_json_end(struct csp_json *json)
{
    bool array = json->arrays >> json->depth & 1;
    json->depth--;
    if (json->filled)
        new_line(json);
    csp_buf_add_char(json->out, array ? ']' : '}');
    if (!json->depth)
        csp_buf_add_char(json->out, '\n');
    json->filled = true;
}

void csp_json_number(struct csp_json *json, const char *key, uint64_t value)
{
    begin_member(json, key);
    csp_buf_add_decimal(json->out, value);
}

void csp_json_signed(struct csp_json *json, const char *key, int64_t value)
{
    begin_member(json, key);
    csp_buf_printf(json->out, "%lld", (long long)value);
}

void csp_json_real(struct csp_json *json, const char *key, double value)
{
    if (!isfinite(value)) { /* JSON has no word for it */
        csp_json_null(json, key);
        return;
    }
    begin_member(json, key);
    csp_buf_printf(json->out, "%.9g", value);
}

void csp_json_bool(struct csp_json *json, const char *key, bool value)
{
    begin_member(json, key);
    csp_buf_add_string(json->out, value ? "true" : "false");
}

void csp_json_string(struct csp_json *json, const char *key, const char *value)
{
    begin_member(json, key);
    add_quoted(json->out, value);
}

void csp_json_null(struct csp_json *json, const char *key)
{
    begin_member(json, key);
    csp_buf_add_string(json->out, "null");
}
