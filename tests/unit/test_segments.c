/* Windows whose ranges are summed up (decode/trace/native/segments.h), or told as their branches
 * alone: nobody can tell, but for the branches that the former lack. */
#include "unit.h"

#include "decode/trace/native/native_engine.h"
#include "decode/window_builder.h"
#include "same_windows.h"
#include "trace_generator.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __x86_64__
enum { TRACES = 600 };
#else
enum { TRACES = 10000 };
#endif

struct decoded {
    struct csp_windows windows;
    struct csp_window_builder builder;
    uint64_t stretches, ranges; /* elements */
};

static int build(void *user, const struct csp_element *elements, size_t count)
{
    struct decoded *decoded = user;
    bool packed = !decoded->builder.sums_up;
    for (size_t i = 0; i < count; i++) {
        bool is_stretch = elements[i].type == CSP_ELEMENT_STRETCH;
        decoded->stretches += is_stretch;
        decoded->ranges += elements[i].type == CSP_ELEMENT_RANGE;
        if (is_stretch && packed)
            i += csp_packed_elements(CSP_STRETCH_BRANCHES(elements[i].number));
    }
    csp_window_builder_add(&decoded->builder, elements, count);
    return 0;
}

enum how { RANGES, SUMS, PACKED };

static void decode(struct decoded *decoded, struct csp_generated_trace *trace, enum how how)
{
    struct csp_code_memory code = {csp_generated_fetch, csp_generated_find, trace, NULL};
    struct csp_trace_config config = trace->config;
    struct csp_engine *engine;
    config.trace_id = 0;
    *decoded = (struct decoded){0};
    decoded->builder =
        (struct csp_window_builder){.out = &decoded->windows,
                                    .context_field = csp_trace_config_context_field(&config),
                                    .sums_up = how == SUMS};
    csp_engine_create_native(&engine, &config, 1, false, &code, build, decoded, NULL);
    if (how == SUMS)
        csp_engine_native_sum_up(engine);
    else if (how == PACKED)
        csp_engine_native_pack_branches(engine);
    csp_engine_feed(engine, (const uint8_t *)trace->bytes.data, trace->bytes.len);
    csp_engine_flush(engine);
    csp_window_builder_end(&decoded->builder, CSP_RUN_TRACE_OFF);
    csp_engine_destroy(engine);
}

static void random_traces_have_the_same_windows_and_counts(void **state)
{
    uint64_t stretches = 0, ranges = 0, packed_stretches = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        struct csp_generated_trace *trace = csp_generate_trace(seed, 100 + 10 * (seed % 100));
        struct decoded whole, summed, packed;
        decode(&whole, trace, RANGES);
        decode(&summed, trace, SUMS);
        decode(&packed, trace, PACKED);
        check_windows(seed, &whole.windows, &summed.windows);
        check_windows(seed, &whole.windows, &packed.windows);
        assert_int_equal(summed.windows.branches.len, 0);
        check_branches(seed, &whole.windows, &packed.windows);
        assert_memory_equal(&whole.builder.stats, &summed.builder.stats,
                            sizeof whole.builder.stats);
        assert_memory_equal(&whole.builder.stats, &packed.builder.stats,
                            sizeof whole.builder.stats);
        assert_int_equal(whole.stretches, 0);
        stretches += summed.stretches;
        ranges += summed.ranges;
        packed_stretches += packed.stretches;
        csp_windows_free(&whole.windows);
        csp_windows_free(&summed.windows);
        csp_windows_free(&packed.windows);
        csp_generated_trace_free(trace);
    }
    /* Both ways are taken, or this test shows nothing. */
    assert_true(stretches > TRACES && ranges > TRACES && packed_stretches > TRACES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_have_the_same_windows_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
