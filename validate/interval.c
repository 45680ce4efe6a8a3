#include "validate/interval.h"

#include <math.h>

struct csp_rate csp_rate_of(uint64_t count, uint64_t of)
{
    static const double z = 1.959963984540054; /* 97.5 % of a normal distribution lie below */
    struct csp_rate rate = {.count = count, .of = of};
    if (!of)
        return rate;
    double n = (double)of, p = (double)count / n;
    double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    rate.rate = p;
    rate.low = count ? middle - half : 0;
    rate.high = count < of ? middle + half : 1;
    return rate;
}

void csp_rate_text(const struct csp_rate *rate, struct csp_buf *out)
{
    csp_buf_printf(out, "%7.3f%% [%.3f, %.3f]", 100 * rate->rate, 100 * rate->low,
                   100 * rate->high);
}

void csp_rate_json(const char *key, const struct csp_rate *rate, struct csp_json *json)
{
    csp_json_object(json, key);
    csp_json_number(json, "count", rate->count);
    csp_json_number(json, "of", rate->of);
    csp_json_real(json, "rate", rate->rate);
    csp_json_real(json, "low", rate->low);
    csp_json_real(json, "high", rate->high);
    csp_json_end(json);
}
