/* Writing one JSON document into a buffer. Commas and indentation take care of themselves.
 *
 *     struct csp_json json = {.out = &buf};
 *     csp_json_object(&json, NULL);
 *     csp_json_number(&json, "windows", 28);
 *     csp_json_end(&json);
 */
#ifndef CSP_BASE_JSON_H
#define CSP_BASE_JSON_H

#include "base/buf.h"

#include <stdbool.h>

struct csp_json {
    struct csp_buf *out;
    unsigned depth;
    uint64_t arrays; /* bit d: the container at depth d is an array */
    bool filled;     /* the innermost container has a member already */
};

/* `key` is null inside an array and at the top. Containers nest at most 63 deep. */
void csp_json_object(struct csp_json *json, const char *key);
void csp_json_array(struct csp_json *json, const char *key);
void csp_json_end(struct csp_json *json);
void csp_json_number(struct csp_json *json, const char *key, uint64_t value);
void csp_json_signed(struct csp_json *json, const char *key, int64_t value);
void csp_json_real(struct csp_json *json, const char *key, double value);
void csp_json_bool(struct csp_json *json, const char *key, bool value);
void csp_json_string(struct csp_json *json, const char *key, const char *value);
void csp_json_null(struct csp_json *json, const char *key);

#endif
