/* The two builds of segments, for any processor and for those with AVX2, and no segments at all, on
 * the same traces: every byte of every element is the same, and with branches packed, which
 * elements those are is nobody's business, every window and branch. Linked with -Wl,--wrap of the
 * build for AVX2. */
#include "unit.h"

#include "decode/trace/native/native_engine.h"
#include "decode/trace/native/segments.h"
#include "decode/window_builder.h"
#include "kept_elements.h"
#include "same_windows.h"
#include "trace_generator.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { TRACES = 40 };
#else
enum { TRACES = 400 };
#endif
enum { STEPS = 1500 };

csp_segments_take_fn __wrap_csp_segments_take_avx2, __real_csp_segments_take_avx2;

/* How it is decoded now, and how many calls of each had something to take. */
enum build { AVX2, ANYWHERE, PACKET_BY_PACKET, BUILDS };
static enum build build;
static unsigned calls[BUILDS];

const uint8_t *__wrap_csp_segments_take_avx2(struct csp_segments *segments,
                                             struct csp_walker *walker,
                                             struct csp_packet_reader *reader, bool takes_stamps,
                                             const uint8_t *at, const uint8_t *end)
{
    const uint8_t *behind = at;
    if (build == AVX2)
        behind = __real_csp_segments_take_avx2(segments, walker, reader, takes_stamps, at, end);
    else if (build == ANYWHERE)
        behind = csp_segments_take_anywhere(segments, walker, reader, takes_stamps, at, end);
    calls[build] += behind != at;
    return behind;
}

static void decode(struct csp_generated_trace *trace, enum build by, size_t piece, bool packs,
                   csp_element_fn *sink, void *user)
{
    struct csp_code_memory code = {csp_generated_fetch, csp_generated_find, trace, NULL};
    struct csp_trace_config config = trace->config;
    struct csp_engine *engine;
    config.trace_id = 0;
    assert_int_equal(csp_engine_create_native(&engine, &config, 1, false, &code, sink, user, NULL),
                     0);
    if (packs)
        csp_engine_native_pack_branches(engine);
    build = by;
    const uint8_t *data = (const uint8_t *)trace->bytes.data;
    for (size_t at = 0, size = trace->bytes.len; at < size; at += piece)
        csp_engine_feed(engine, data + at, size - at < piece ? size - at : piece);
    csp_engine_flush(engine);
    csp_engine_destroy(engine);
}

static struct elements decode_elements(struct csp_generated_trace *trace, enum build by,
                                       size_t piece)
{
    struct elements got = {0};
    decode(trace, by, piece, false, keep, &got);
    return got;
}

static int add_to_windows(void *builder, const struct csp_element *elements, size_t count)
{
    csp_window_builder_add(builder, elements, count);
    return 0;
}

static struct csp_windows decode_windows(struct csp_generated_trace *trace, enum build by,
                                         size_t piece)
{
    struct csp_windows got = {0};
    struct csp_window_builder builder = {
        .out = &got, .context_field = csp_trace_config_context_field(&trace->config)};
    decode(trace, by, piece, true, add_to_windows, &builder);
    csp_window_builder_end(&builder, CSP_RUN_TRACE_OFF);
    return got;
}

static void check_same(const struct elements *one, const struct elements *other, uint64_t seed)
{
    size_t count = one->list.len < other->list.len ? one->list.len : other->list.len;
    for (size_t i = 0; i < count; i++)
        if (memcmp(&one->list.data[i], &other->list.data[i], sizeof one->list.data[i]))
            fail_msg("seed %" PRIu64 ": element %zu of %zu differs", seed, i, count);
    assert_int_equal(one->list.len, other->list.len);
}

static void compare_elements(struct csp_generated_trace *trace, uint64_t seed, size_t piece)
{
    struct elements first = decode_elements(trace, (enum build)(seed % BUILDS), piece);
    for (unsigned i = 1; i < BUILDS; i++) {
        struct elements other = decode_elements(trace, (enum build)((seed + i) % BUILDS), piece);
        check_same(&first, &other, seed);
        csp_vec_free(&other.list);
    }
    csp_vec_free(&first.list);
}

static void compare_windows(struct csp_generated_trace *trace, uint64_t seed, size_t piece)
{
    struct csp_windows first = decode_windows(trace, (enum build)(seed % BUILDS), piece);
    for (unsigned i = 1; i < BUILDS; i++) {
        struct csp_windows other = decode_windows(trace, (enum build)((seed + i) % BUILDS), piece);
        check_windows(seed, &first, &other);
        check_branches(seed, &first, &other);
        csp_windows_free(&other);
    }
    csp_windows_free(&first);
}

/* Whoever is first finds nothing in the block tables, and fills them for the others. */
static void compare(struct csp_generated_trace *trace, uint64_t seed, size_t piece)
{
    compare_elements(trace, seed, piece);
    compare_windows(trace, seed, piece);
}

static void on_random_traces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        struct csp_generated_trace *trace = csp_generate_trace(seed, STEPS);
        compare(trace, seed, trace->bytes.len);
        csp_generated_trace_free(trace);
    }
}

/* What is left of a piece is taken with zeroes behind it. */
static void in_pieces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        struct csp_generated_trace *trace = csp_generate_trace(seed, STEPS);
        compare(trace, seed, 1 + seed * 7 % 90);
        csp_generated_trace_free(trace);
    }
}

/* Other atoms, and addresses that lead anywhere: the code does not end where a trace would have it,
 * and links lead out of it. */
static void on_damaged_traces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        struct csp_generated_trace *trace = csp_generate_trace(seed, STEPS);
        uint64_t random = seed;
        for (size_t at = 30; at < trace->bytes.len; at += 1 + (random >> 33) % 200) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            trace->bytes.data[at] = (char)(random >> 56 | (random >> 20 & 0xc0));
        }
        compare(trace, seed, trace->bytes.len);
        csp_generated_trace_free(trace);
    }
}

static void both_were_taken(void **state)
{
    (void)state;
    print_message("%u calls with AVX2, %u without\n", calls[AVX2], calls[ANYWHERE]);
    assert_true(calls[AVX2] > 20 * TRACES);
    assert_int_equal(calls[AVX2], calls[ANYWHERE]);
}

int main(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) {
        print_message("skipped: this processor has no AVX2, so there is nothing to compare\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_random_traces),
        cmocka_unit_test(in_pieces),
        cmocka_unit_test(on_damaged_traces),
        cmocka_unit_test(both_were_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
