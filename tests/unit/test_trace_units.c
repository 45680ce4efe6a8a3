/* Where a trace is cut: bytes beside the places. */
#include "unit.h"

#include "base/big_vec.h"

#include "decode/trace_units.h"

#include <string.h>

/* An enabling: A-Sync, Trace Info, TRACE_ON; then atoms. */
enum { ASYNC = 12, HEAD = ASYNC + 3, WINDOW = 1000, MANY = 700 };

static void put_async(uint8_t *at)
{
    memset(at, 0, ASYNC - 1);
    at[ASYNC - 1] = 0x80;
    memcpy(at + ASYNC, "\x01\x00", 2);
}

static void put_window(uint8_t *at)
{
    memset(at, 0xf7, WINDOW);
    put_async(at);
    at[ASYNC + 2] = 0x04;
}

struct trace {
    struct csp_trace_input input;
    struct csp_chunk chunks[8];
    uint8_t bytes[MANY * WINDOW];
};

/* `sizes` of chunks, ending with 0; the last takes what is left. */
static struct trace *make_trace(const size_t *sizes, bool continued, bool formatted, uint32_t idr8)
{
    struct trace *trace = csp_calloc(1, sizeof *trace);
    struct csp_stream stream = {.formatted = formatted, .source_count = 1};
    size_t at = 0, count = 0;
    for (size_t i = 0; i < MANY; i++)
        put_window(trace->bytes + i * WINDOW);
    do {
        size_t size = sizes[count] ? sizes[count] : sizeof trace->bytes - at;
        struct csp_chunk chunk = {
            .data = trace->bytes + at, .size = size, .continues = continued && count};
        csp_big_vec_push(&stream.chunks, chunk);
        at += size;
    } while (sizes[count++]);
    csp_vec_push(&trace->input.streams, stream);
    struct csp_source source = {.config = {.protocol = CSP_PROTOCOL_ETE, .idr8 = idr8}};
    csp_vec_push(&trace->input.sources, source);
    return trace;
}

static void free_trace(struct trace *trace)
{
    csp_trace_input_free(&trace->input);
    free(trace);
}

/* The units follow each other without a gap, and all that begin within chunks begin with an
 * enabling. Returns how many have anything. */
static size_t check_units(const struct trace *trace)
{
    csp_trace_units units = {0};
    size_t filled = 0;
    uint64_t at = 0;
    csp_trace_units_make(&trace->input, false, &units);
    for (size_t i = 0; i < units.len; i++) {
        const struct csp_trace_unit *unit = &units.data[i];
        uint64_t begin, end;
        csp_trace_unit_bounds(&trace->input, unit, &begin, &end);
        if (begin == end)
            continue;
        assert_int_equal(unit->offset + begin, at);
        if (unit->is_slice)
            assert_int_equal(at % WINDOW, 0);
        at = unit->offset + end;
        filled++;
    }
    assert_int_equal(at, sizeof trace->bytes);
    csp_vec_free(&units);
    return filled;
}

static void chunks_that_nothing_continues_are_not_cut(void **state)
{
    (void)state;
    struct trace *trace =
        make_trace((const size_t[]){100000, 30000, 30000, 30000, 0}, false, true, 0);
    assert_int_equal(check_units(trace), 4); /* two of the small ones are one unit */
    free_trace(trace);
}

static void raw_trace_is_cut_where_the_unit_was_enabled(void **state)
{
    (void)state;
    struct trace *trace = make_trace((const size_t[]){0}, false, false, 0);
    assert_int_equal(check_units(trace), (MANY * WINDOW + 65535) / 65536);
    free_trace(trace);
}

static void chunks_that_continue_each_other_are_cut_as_one(void **state)
{
    (void)state;
    /* The second begins in the middle of an A-Sync, which is no place to cut; the third is short.
     */
    struct trace *trace = make_trace((const size_t[]){66005, 70007, 1, 200001, 0}, true, false, 0);
    assert_int_equal(check_units(trace), (MANY * WINDOW + 65535) / 65536);
    free_trace(trace);
}

static void what_may_be_speculative_is_not_cut(void **state)
{
    (void)state;
    struct trace *trace = make_trace((const size_t[]){0}, false, false, 4);
    assert_int_equal(check_units(trace), 1);
    free_trace(trace);
}

/* Without TRACE_ON behind it, an A-Sync is one of those that come every so many bytes; behind an
 * overflow, what was lost is told there. */
static void not_every_sync_is_a_place_to_cut(void **state)
{
    (void)state;
    struct trace *trace = make_trace((const size_t[]){0}, false, false, 0);
    memset(trace->bytes, 0xf7, sizeof trace->bytes);
    put_window(trace->bytes);
    for (size_t i = 1; i < MANY; i++) {
        put_async(trace->bytes + i * WINDOW);
        if (i % 2) {
            put_window(trace->bytes + i * WINDOW);
            memcpy(trace->bytes + i * WINDOW - 2, "\x00\x05", 2);
        }
    }
    assert_int_equal(check_units(trace), 1);
    free_trace(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_that_nothing_continues_are_not_cut),
        cmocka_unit_test(raw_trace_is_cut_where_the_unit_was_enabled),
        cmocka_unit_test(chunks_that_continue_each_other_are_cut_as_one),
        cmocka_unit_test(what_may_be_speculative_is_not_cut),
        cmocka_unit_test(not_every_sync_is_a_place_to_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
