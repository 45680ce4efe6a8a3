#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The factor that a suffix stands for, or 0. */
static uint64_t factor_of(const char *suffix)
{
    static const char letters[] = "kMGT";
    if (!*suffix || !strcmp(suffix, "B"))
        return 1;
    char letter = *suffix == 'K' ? 'k' : *suffix;
    const char *found = strchr(letters, letter);
    if (!found)
        return 0;
    bool binary = suffix[1] == 'i';
    const char *rest = suffix + 1 + binary;
    if (*rest && strcmp(rest, "B") != 0)
        return 0;
    uint64_t factor = 1;
    for (const char *at = letters; at <= found; at++)
        factor *= binary ? 1024 : 1000;
    return factor;
}

bool csp_parse_count(const char *text, uint64_t *value)
{
    if (!isdigit((unsigned char)*text))
        return false;
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
    uint64_t factor = factor_of(end);
    return !errno && factor && !__builtin_mul_overflow(number, factor, value);
}

bool csp_parse_real(const char *text, double low, double high, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return !errno && end != text && !*end && *value >= low && *value <= high;
}
