/* Two engines over the same trace, each judging the other. */
#include "base/vec.h"
#include "decode/trace/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SIDES = 2, SOURCES = 256 };

static const char *const side_names[SIDES] = {"opencsd", "native"};

struct elements {
    CSP_VEC(struct csp_element) list;
};

/* What one engine said of each source and was not yet compared. */
struct side {
    struct csp_engine *engine;
    struct elements by_source[SOURCES];
};

struct both_engine {
    struct csp_engine base;
    struct side sides[SIDES]; /* the first is the reference */
    csp_element_fn *sink;
    void *user;
    struct csp_diag *diag;
    uint64_t compared[SOURCES];
};

/* The sink of one engine. */
struct ear {
    struct both_engine *both;
    unsigned side;
};

struct both_with_ears {
    struct both_engine both;
    struct ear ears[SIDES];
};

static int hear(void *user, const struct csp_element *elements, size_t count)
{
    struct ear *ear = user;
    struct both_engine *both = ear->both;
    struct side *side = &both->sides[ear->side];
    for (size_t i = 0; i < count; i++)
        if (elements[i].type != CSP_ELEMENT_OTHER)
            csp_vec_push(&side->by_source[elements[i].source].list, elements[i]);
    return ear->side == 0 ? both->sink(both->user, elements, count) : 0;
}

static bool are_equal(const struct csp_element *x, const struct csp_element *y)
{
    return x->type == y->type && x->kind == y->kind && x->taken == y->taken &&
           x->last_size == y->last_size && x->el == y->el && x->secure == y->secure &&
           x->has_address == y->has_address && x->instructions == y->instructions &&
           x->number == y->number && x->a == y->a && x->b == y->b;
}

static void describe(const struct csp_element *element, char *text, size_t size)
{
    static const char *const names[] = {
        [CSP_ELEMENT_RANGE] = "range",
        [CSP_ELEMENT_TRACE_ON] = "trace on",
        [CSP_ELEMENT_SYNC] = "sync",
        [CSP_ELEMENT_EXCEPTION] = "exception",
        [CSP_ELEMENT_EXCEPTION_RETURN] = "exception return",
        [CSP_ELEMENT_CONTEXT] = "context",
        [CSP_ELEMENT_TIMESTAMP] = "timestamp",
        [CSP_ELEMENT_NO_CODE] = "no code",
        [CSP_ELEMENT_NO_PATH] = "no path",
        [CSP_ELEMENT_OVERFLOW] = "overflow",
        [CSP_ELEMENT_DISCARD] = "discard",
        [CSP_ELEMENT_BAD] = "bad packet",
    };
    if (!element)
        snprintf(text, size, "nothing");
    else
        snprintf(text, size, "%s a=0x%" PRIx64 " b=0x%" PRIx64 " n=%u kind=%u taken=%u number=%u",
                 names[element->type], element->a, element->b, element->instructions, element->kind,
                 element->taken, element->number);
}

static int complain(const struct both_engine *both, unsigned source, uint64_t number,
                    const struct csp_element *said[SIDES])
{
    char texts[SIDES][256];
    for (int i = 0; i < SIDES; i++)
        describe(said[i], texts[i], sizeof texts[i]);
    return csp_fail(both->diag, CSP_ERR_FAILED,
                    "the engines differ at element %" PRIu64 " of trace ID 0x%02x: %s says %s; %s "
                    "says %s",
                    number, source, side_names[0], texts[0], side_names[1], texts[1]);
}

/* Compares what both have said of a source; at the end of the stream neither may say more. */
static int compare_source(struct both_engine *both, unsigned source, bool end)
{
    struct elements *said[SIDES] = {&both->sides[0].by_source[source],
                                    &both->sides[1].by_source[source]};
    size_t common = said[0]->list.len < said[1]->list.len ? said[0]->list.len : said[1]->list.len;
    size_t longest = said[0]->list.len + said[1]->list.len - common;
    size_t stop = end ? longest : common;
    for (size_t i = 0; i < stop; i++) {
        const struct csp_element *pair[SIDES];
        for (int k = 0; k < SIDES; k++)
            pair[k] = i < said[k]->list.len ? &said[k]->list.data[i] : NULL;
        if (!pair[0] || !pair[1] || !are_equal(pair[0], pair[1]))
            return complain(both, source, both->compared[source] + i, pair);
    }
    both->compared[source] += common;
    for (int k = 0; k < SIDES; k++) {
        size_t left = said[k]->list.len - common;
        if (left)
            memmove(said[k]->list.data, said[k]->list.data + common,
                    left * sizeof *said[k]->list.data);
        said[k]->list.len = left;
    }
    return 0;
}

static int compare(struct both_engine *both, bool end)
{
    int error = 0;
    for (unsigned source = 0; source < SOURCES && !error; source++)
        error = compare_source(both, source, end);
    return error;
}

static int feed(struct csp_engine *engine, const uint8_t *data, size_t size)
{
    struct both_engine *both = (struct both_engine *)engine;
    int error = 0;
    for (int i = 0; i < SIDES && error >= 0; i++)
        error = csp_engine_feed(both->sides[i].engine, data, size);
    return error < 0 ? error : compare(both, false);
}

static int flush(struct csp_engine *engine)
{
    struct both_engine *both = (struct both_engine *)engine;
    int error = 0;
    for (int i = 0; i < SIDES && error >= 0; i++)
        error = csp_engine_flush(both->sides[i].engine);
    return error < 0 ? error : compare(both, true);
}

static struct csp_engine_stats stats(const struct csp_engine *engine)
{
    return csp_engine_stats(((const struct both_engine *)engine)->sides[0].engine);
}

static void destroy(struct csp_engine *engine)
{
    struct both_engine *both = (struct both_engine *)engine;
    for (int i = 0; i < SIDES; i++) {
        csp_engine_destroy(both->sides[i].engine);
        for (int k = 0; k < SOURCES; k++)
            csp_vec_free(&both->sides[i].by_source[k].list);
    }
    free(both);
}

static const struct csp_engine_ops operations = {feed, flush, stats, destroy};

int csp_engine_create_both(struct csp_engine **out, const struct csp_trace_config *configs,
                           size_t config_count, bool formatted, const struct csp_code_memory *code,
                           csp_element_fn *sink, void *user, struct csp_diag *diag)
{
    static csp_engine_create_fn *const makers[SIDES] = {csp_engine_create_opencsd,
                                                        csp_engine_create_native};
    struct both_with_ears *both = csp_calloc(1, sizeof *both);
    both->both.base.ops = &operations;
    both->both.sink = sink;
    both->both.user = user;
    both->both.diag = diag;
    int error = 0;
    for (unsigned i = 0; i < SIDES && !error; i++) {
        both->ears[i] = (struct ear){&both->both, i};
        error = makers[i](&both->both.sides[i].engine, configs, config_count, formatted, code, hear,
                          &both->ears[i], diag);
    }
    if (error)
        destroy(&both->both.base);
    else
        *out = &both->both.base;
    return error;
}
