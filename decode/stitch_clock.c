#include "decode/stitch_clock.h"

#include "base/alloc.h"

#include <stdlib.h>

enum {
    CHUNK = 64, /* anchors per knot: enough for a median */
    ANCHORS_MIN = 8,
    PRECISE_PART = 8, /* anchors that scatter over more than 1/8 of the spacing tell nothing */
};

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
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

/* Between two events. */
struct slope {
    double value, weight;
};

static int compare_slopes(const void *a, const void *b)
{
    const struct slope *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* The median, by weight. */
static double middle_of(struct slope *slopes, size_t count)
{
    double all = 0, below = 0;
    size_t i = 0;
    qsort(slopes, count, sizeof *slopes, compare_slopes);
    for (size_t k = 0; k < count; k++)
        all += slopes[k].weight;
    while (i + 1 < count && (below += slopes[i].weight) < all / 2)
        i++;
    return slopes[i].value;
}

/* From anchors half of all apart. Those that are far apart in time tell it best: where most are
 * close together, what they scatter by is all that these say. */
double csp_clock_drift(const struct csp_clock_anchor *anchors, size_t count)
{
    enum { ENOUGH = 512 };
    struct slope slopes[ENOUGH];
    size_t half = count / 2, step = half / ENOUGH + 1, len = 0;
    for (size_t i = 0; i < half; i += step) {
        const struct csp_clock_anchor *a = &anchors[i], *b = &anchors[i + half];
        double time = (double)(int64_t)(b->trace - a->trace);
        if (time > 0)
            slopes[len++] =
                (struct slope){((double)offset_of(b) - (double)offset_of(a)) / time, time};
    }
    return len ? middle_of(slopes, len) : 0;
}

/* Of an anchor, at another time. */
static int64_t offset_at(const struct csp_clock_fit *fit, const struct csp_clock_anchor *anchor,
                         uint64_t trace)
{
    double distance = (double)(int64_t)(trace - anchor->trace);
    return offset_of(anchor) + (int64_t)(fit->drift * distance);
}

static void add_knots(struct csp_clock_fit *fit, const struct csp_clock_anchor *anchors,
                      size_t count)
{
    int64_t offsets[2 * CHUNK];
    for (size_t first = 0; first < count;) {
        /* What is left beyond the last whole chunk joins it. */
        size_t size = count - first < 2 * CHUNK ? count - first : CHUNK;
        uint64_t trace = anchors[first + size / 2].trace;
        for (size_t i = 0; i < size; i++)
            offsets[i] = offset_at(fit, &anchors[first + i], trace);
        uint64_t sample = trace + (uint64_t)median(offsets, size);
        fit->knots[fit->knot_len++] = (struct csp_clock_anchor){trace, sample};
        first += size;
    }
}

/* Clocks drift evenly, or nearly so. Where many samples were lost, most of a chunk's anchors may be
 * wrong in the same way: such knots are far from the line through the others. */
static void drop_outliers(struct csp_clock_fit *fit)
{
    enum { KNOTS_MIN = 4, FAR = 8 };
    size_t kept = 0;
    if (fit->knot_len < KNOTS_MIN)
        return;
    int64_t *errors = csp_malloc(fit->knot_len * sizeof *errors);
    int64_t *sorted = csp_malloc(fit->knot_len * sizeof *sorted);
    for (size_t i = 0; i < fit->knot_len; i++)
        sorted[i] = errors[i] = offset_at(fit, &fit->knots[i], fit->knots[0].trace);
    int64_t middle = median(sorted, fit->knot_len);
    for (size_t i = 0; i < fit->knot_len; i++)
        sorted[i] = errors[i] = llabs(errors[i] - middle);
    int64_t most = FAR * (median(sorted, fit->knot_len) + 1);
    for (size_t i = 0; i < fit->knot_len; i++)
        if (errors[i] <= most)
            fit->knots[kept++] = fit->knots[i];
    fit->knot_len = kept;
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
    fit->drift = csp_clock_drift(anchors, count);
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
    const struct csp_clock_anchor *a = &fit->knots[low], *b = a + 1;
    if (trace < a->trace || low == fit->knot_len - 1)
        return trace + (uint64_t)offset_at(fit, a, trace);
    double distance = (double)(trace - a->trace), step = (double)(b->trace - a->trace);
    double drift = step > 0 ? (double)(offset_of(b) - offset_of(a)) * distance / step : 0;
    return trace + (uint64_t)(offset_of(a) + (int64_t)drift);
}

void csp_clock_fit_free(struct csp_clock_fit *fit)
{
    free(fit->knots);
    *fit = (struct csp_clock_fit){0};
}
