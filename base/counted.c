#include "base/counted.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool ends_with(const char *noun, const char *end)
{
    size_t length = strlen(noun), size = strlen(end);
    return length >= size && !strcmp(noun + length - size, end);
}

/* Of the nouns that are counted. */
static const char *plural_ending(const char *noun)
{
    if (ends_with(noun, "s") || ends_with(noun, "ch"))
        return "es";
    return ends_with(noun, "entry") ? "ies" : "s";
}

const char *csp_counted(char *text, uint64_t count, const char *noun)
{
    const char *ending = count == 1 ? "" : plural_ending(noun);
    int stem = (int)strlen(noun) - (*ending == 'i'); /* the y becomes ies */
    snprintf(text, CSP_COUNTED_SIZE, "%" PRIu64 " %.*s%s", count, stem, noun, ending);
    return text;
}
