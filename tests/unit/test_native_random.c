/* The native engine against random traces that know what they mean; the number of traces, and the
 * seed of the first, can be given as arguments. */
#include "unit.h"

#include "kept_elements.h"
#include "trace_generator.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __x86_64__
static unsigned trace_count = 600;
#else
static unsigned trace_count = 10000;
#endif
static uint64_t first_seed = 1;

static bool same(const struct csp_element *truth, const struct csp_element *got)
{
    bool place_matters = got->type != CSP_ELEMENT_TRACE_ON;
    return truth->type == got->type && truth->kind == got->kind && truth->taken == got->taken &&
           truth->last_size == got->last_size && truth->el == got->el &&
           truth->secure == got->secure && truth->has_address == got->has_address &&
           truth->instructions == got->instructions && truth->number == got->number &&
           (!place_matters || (truth->a == got->a && truth->b == got->b));
}

static void show(const char *who, const struct csp_element *e)
{
    print_message("%s: type %u a=%" PRIx64 " b=%" PRIx64 " n=%u kind=%u taken=%u number=%u el=%u\n",
                  who, e->type, e->a, e->b, e->instructions, e->kind, e->taken, e->number, e->el);
}

static void check(const struct csp_generated_trace *trace, const struct elements *got,
                  uint64_t seed)
{
    size_t count = trace->truth.len < got->list.len ? trace->truth.len : got->list.len;
    for (size_t i = 0; i < count; i++) {
        if (same(&trace->truth.data[i], &got->list.data[i]))
            continue;
        for (size_t k = i > 4 ? i - 4 : 0; k < i; k++)
            show("both", &trace->truth.data[k]);
        show("truth", &trace->truth.data[i]);
        show("decoded", &got->list.data[i]);
        fail_msg("seed %" PRIu64 ", %s, depth %u, configr 0x%x: element %zu differs", seed,
                 trace->config.protocol == CSP_PROTOCOL_ETE ? "ETE" : "ETMv4", trace->config.idr8,
                 trace->config.configr, i);
    }
    for (size_t i = count; i < trace->truth.len; i++)
        show("missing", &trace->truth.data[i]);
    for (size_t i = count; i < got->list.len; i++)
        show("too many", &got->list.data[i]);
    if (trace->truth.len != got->list.len)
        fail_msg("seed %" PRIu64 ": %zu elements instead of %zu", seed, got->list.len,
                 trace->truth.len);
}

/* In pieces of random sizes, so that packets and frames are cut anywhere. */
static void feed_in_pieces(struct csp_engine *engine, const char *data, size_t size, uint64_t seed)
{
    while (size) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        size_t piece = 1 + (seed >> 40) % (seed >> 33 & 1 ? 9 : 4000);
        if (piece > size)
            piece = size;
        csp_engine_feed(engine, (const uint8_t *)data, piece);
        data += piece;
        size -= piece;
    }
}

static struct elements decode_by(csp_engine_create_fn *create, struct csp_generated_trace *trace,
                                 bool formatted, const struct csp_buf *bytes, uint64_t seed)
{
    struct csp_code_memory code = {csp_generated_fetch, csp_generated_find, trace, NULL};
    struct elements got = {0};
    struct csp_engine *engine;
    struct csp_trace_config config = trace->config;
    if (!formatted)
        config.trace_id = 0;
    assert_int_equal(create(&engine, &config, 1, formatted, &code, keep, &got, NULL), 0);
    if (seed & 1)
        feed_in_pieces(engine, bytes->data, bytes->len, seed);
    else
        csp_engine_feed(engine, (const uint8_t *)bytes->data, bytes->len);
    csp_engine_flush(engine);
    csp_engine_destroy(engine);
    return got;
}

static struct elements decode(struct csp_generated_trace *trace, bool formatted,
                              const struct csp_buf *bytes, uint64_t seed)
{
    return decode_by(csp_engine_create_native, trace, formatted, bytes, seed);
}

static void random_traces_decode_to_what_they_mean(void **state)
{
    unsigned kinds[CSP_GENERATED_KINDS] = {0};
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + trace_count; seed++) {
        struct csp_generated_trace *trace = csp_generate_trace(seed, 100 + 10 * (seed % 100));
        struct elements got = decode(trace, false, &trace->bytes, seed);
        check(trace, &got, seed);
        csp_vec_free(&got.list);
        for (unsigned i = 0; i < CSP_GENERATED_KINDS; i++)
            kinds[i] += trace->kinds[i];
        csp_generated_trace_free(trace);
    }
    if (trace_count < 600)
        return;
    static const uint16_t all[] = {
        0x00,
        CSP_GENERATED_OVERFLOW,
        CSP_GENERATED_DISCARD, /* lost trace */
        0x01,                  /* Trace Info */
        0x02,
        0x03, /* timestamps */
        0x04, /* Trace On */
        0x06,
        0x07, /* exceptions and returns */
        0x09, /* ITE */
        0x0a,
        0x0b,
        CSP_GENERATED_FAILURE, /* transactions */
        0x0c,
        0x0e,
        0x0f,
        0x10, /* cycle counts */
        0x2d, /* commits */
        0x2e,
        0x2f,
        0x34,
        0x35,
        0x37,
        0x38,
        0x39,
        0x3a,
        0x3b,
        0x3c, /* cancels */
        0x30,
        0x31,
        0x33, /* mispredicts */
        0x70,
        0x71,
        0x88, /* Ignore, events, markers */
        0x80,
        0x81,
        0x82,
        0x85, /* contexts */
        0x90,
        0x91,
        0x92,
        0x95,
        0x9a,
        0x9d, /* addresses */
        0xa0,
        0xa1,
        0xa2,
        0xa5,
        0xaa,
        0xac, /* Q */
        0xb0,
        0xb1,
        0xb2,
        0xb4,
        0xb6,
        0xb8, /* source addresses */
        0xc0,
        0xd4,
        0xe0,
        /* atoms, many */
        0xd5,
        0xd6,
        0xd7,
        0xf5,
        0xdc,
        0xdd,
        0xde,
        0xdf, /* five, four */
        0xd8,
        0xd9,
        0xda,
        0xdb,
        0xf6,
        0xf7,
        0xf8,
        0xf9,
        0xfa,
        0xfb, /* fewer */
        0xfc,
        0xfd,
        0xfe,
        0xff,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!kinds[all[i]])
            fail_msg("no packet of kind 0x%02x was made", all[i]);
}

static void frames_carry_the_same_trace_between_other_sources(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + trace_count / 4; seed++) {
        struct csp_generated_trace *trace = csp_generate_trace(seed, 400);
        struct csp_buf frames = {0};
        csp_generated_frames(trace, seed, &frames);
        struct elements got = decode(trace, true, &frames, seed);
        for (size_t i = 0; i < got.list.len; i++)
            assert_int_equal(got.list.data[i].source, 0x10);
        check(trace, &got, seed);
        csp_vec_free(&got.list);
        csp_buf_free(&frames);
        csp_generated_trace_free(trace);
    }
}

/* OpenCSD 1.3.3 is right, and does not crash, on ETMv4 without speculation and return stack. */
static void the_reference_finds_the_same_where_it_is_right(void **state)
{
    unsigned compared = 0;
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + trace_count; seed++) {
        struct csp_generated_trace *trace = csp_generate_trace(seed, 300);
        const struct csp_trace_config *config = &trace->config;
        bool is_right = config->protocol == CSP_PROTOCOL_ETMV4 && !config->idr8 &&
                        !(config->configr & 1u << 12);
        if (is_right) {
            struct elements got =
                decode_by(csp_engine_create_opencsd, trace, false, &trace->bytes, 2);
            check(trace, &got, seed);
            csp_vec_free(&got.list);
            compared++;
        }
        csp_generated_trace_free(trace);
    }
    assert_true(compared > 0 || trace_count < 50);
}

struct reader {
    pthread_t thread;
    struct csp_generated_trace *trace;
    struct elements got;
};

static void *read_trace(void *user)
{
    struct reader *reader = user;
    reader->got = decode(reader->trace, false, &reader->trace->bytes, 2);
    return NULL;
}

/* Nothing was looked up before: all of them fill the tables at once. */
static void threads_share_block_tables(void **state)
{
    enum { THREADS = 4 };
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + 20; seed++) {
        struct reader readers[THREADS] = {0};
        struct csp_generated_trace *trace = csp_generate_trace(seed, 2000);
        for (unsigned i = 0; i < THREADS; i++) {
            readers[i].trace = trace;
            assert_int_equal(pthread_create(&readers[i].thread, NULL, read_trace, &readers[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(readers[i].thread, NULL);
            check(trace, &readers[i].got, seed);
            csp_vec_free(&readers[i].got.list);
        }
        csp_generated_trace_free(trace);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        trace_count = (unsigned)strtoul(argv[1], NULL, 0);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_decode_to_what_they_mean),
        cmocka_unit_test(frames_carry_the_same_trace_between_other_sources),
        cmocka_unit_test(the_reference_finds_the_same_where_it_is_right),
        cmocka_unit_test(threads_share_block_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
