#include "decode/stitch_clock.h"

#include "base/alloc.h"

#include <stdlib.h>

enum {
    CHUNK = 64, /* anchors per knot: few enough that no drift shows within, enough for a median */
    ANCHORS_MIN = 8,
    PRECISE_PART = 8, /* anchors that scatter over more than 1/8 of the spacing tell nothing */
};

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_i64);
    return values[count / 2];
}

static int64_t offset_of(const struct csp_clock_anchor *anchor)
{
    return (int64_t)(anchor->sample - anchor->trace);
}

static void add_knots(struct csp_clock_fit *fit, const struct csp_clock_anchor *anchors,
                      size_t count)
{
    int64_t offsets[2 * CHUNK];
    for (size_t first = 0; first < count;) {
        /* What is left beyond the last whole chunk joins it. */
        size_t size = count - first < 2 * CHUNK ? count - first : CHUNK;
        for (size_t i = 0; i < size; i++)
            offsets[i] = offset_of(&anchors[first + i]);
        uint64_t trace = anchors[first + size / 2].trace;
        uint64_t sample = trace + (uint64_t)median(offsets, size);
        fit->knots[fit->knot_len++] = (struct csp_clock_anchor){trace, sample};
        first += size;
    }
}

/* The slope of the offsets, from knots half of all apart. */
static double median_slope(const struct csp_clock_fit *fit, double *values)
{
    size_t half = fit->knot_len / 2;
    for (size_t i = 0; i < half; i++) {
        const struct csp_clock_anchor *a = &fit->knots[i], *b = &fit->knots[i + half];
        double step = (double)(b->trace - a->trace);
        values[i] = step > 0 ? (double)(offset_of(b) - offset_of(a)) / step : 0;
    }
    qsort(values, half, sizeof *values, compare_double);
    return values[half / 2];
}

/* Clocks drift evenly, or nearly so. Where many samples were lost, most of a chunk's anchors may be
 * wrong in the same way: such knots are far from the line through the others. */
static void drop_outliers(struct csp_clock_fit *fit)
{
    enum { KNOTS_MIN = 4, FAR = 8 };
    size_t kept = 0;
    if (fit->knot_len < KNOTS_MIN)
        return;
    double *values = csp_malloc(fit->knot_len * sizeof *values);
    int64_t *errors = csp_malloc(fit->knot_len * sizeof *errors);
    int64_t *sorted = csp_malloc(fit->knot_len * sizeof *sorted);
    double slope = median_slope(fit, values);
    for (size_t i = 0; i < fit->knot_len; i++) {
        const struct csp_clock_anchor *knot = &fit->knots[i];
        double drift = slope * (double)(knot->trace - fit->knots[0].trace);
        sorted[i] = errors[i] = offset_of(knot) - (int64_t)drift;
    }
    int64_t middle = median(sorted, fit->knot_len);
    for (size_t i = 0; i < fit->knot_len; i++)
        sorted[i] = errors[i] = llabs(errors[i] - middle);
    int64_t most = FAR * (median(sorted, fit->knot_len) + 1);
    for (size_t i = 0; i < fit->knot_len; i++)
        if (errors[i] <= most)
            fit->knots[kept++] = fit->knots[i];
    fit->knot_len = kept;
    free(values);
    free(errors);
    free(sorted);
}

bool csp_clock_fit(struct csp_clock_fit *fit, const struct csp_clock_anchor *anchors, size_t count,
                   uint64_t spacing)
{
    *fit = (struct csp_clock_fit){0};
    if (count < ANCHORS_MIN)
        return false;
    fit->knots = csp_malloc((count / CHUNK + 1) * sizeof *fit->knots);
    add_knots(fit, anchors, count);
    drop_outliers(fit);
    int64_t *errors = csp_malloc(count * sizeof *errors);
    for (size_t i = 0; i < count; i++)
        errors[i] =
            llabs((int64_t)(anchors[i].sample - csp_clock_to_sample(fit, anchors[i].trace)));
    fit->precision = (uint64_t)median(errors, count);
    free(errors);
    if (fit->precision < spacing / PRECISE_PART)
        return true;
    csp_clock_fit_free(fit);
    return false;
}

uint64_t csp_clock_to_sample(const struct csp_clock_fit *fit, uint64_t trace)
{
    size_t low = 0, high = fit->knot_len - 1;
    while (low < high) { /* the last knot at or before it, or the first */
        size_t middle = (low + high + 1) / 2;
        if (fit->knots[middle].trace <= trace)
            low = middle;
        else
            high = middle - 1;
    }
    const struct csp_clock_anchor *a = &fit->knots[low];
    if (fit->knot_len == 1)
        return trace + (uint64_t)offset_of(a);
    if (low == fit->knot_len - 1)
        a--;
    const struct csp_clock_anchor *b = a + 1;
    double distance = (double)(int64_t)(trace - a->trace), step = (double)(b->trace - a->trace);
    double drift = step > 0 ? (double)(offset_of(b) - offset_of(a)) * distance / step : 0;
    return trace + (uint64_t)(offset_of(a) + (int64_t)drift);
}

void csp_clock_fit_free(struct csp_clock_fit *fit)
{
    free(fit->knots);
    *fit = (struct csp_clock_fit){0};
}
