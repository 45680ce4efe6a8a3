/* Identical windows are decoded once, and nobody can tell. */
#include "unit.h"

#include "base/big_vec.h"

#include "base/arena.h"
#include "decode/trace_decode.h"
#include "trace_generator.h"

#include <string.h>

enum { ID = 0x10, CODE_AT = 0x10000 };

static const uint32_t code[] = {
    /* 10000 */ 0xf1000421, /* subs x1, x1, #1 */
    /* 10004 */ 0x54ffffe1, /* b.ne 10000 */
    /* 10008 */ 0xd65f03c0, /* ret */
};

static struct csp_block_cache *blocks;

static size_t fetch(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                    const uint8_t **bytes)
{
    (void)user, (void)source, (void)context_id;
    if (address - CODE_AT >= sizeof code)
        return 0;
    *bytes = (const uint8_t *)code + (address - CODE_AT);
    return sizeof code - (address - CODE_AT);
}

static bool find(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                 struct csp_code_region *region)
{
    (void)user, (void)source, (void)context_id;
    *region = (struct csp_code_region){CODE_AT, CODE_AT + sizeof code, CODE_AT, blocks};
    return address - CODE_AT < sizeof code;
}

static void close_nothing(struct csp_code_view *view)
{
    (void)view;
}

static struct csp_code_view view = {.memory = {fetch, find, NULL, NULL}, .close = close_nothing};

static struct csp_code_view *open_code(void *owner, uint32_t stream)
{
    (void)owner, (void)stream;
    return &view;
}

/* What one window says: how often the loop goes round, and the timestamps before, within and
 * behind. */
struct window {
    uint8_t atoms, before, within, behind;
};

static void add_time(struct csp_buf *bytes, uint8_t time)
{
    uint8_t packet[] = {0x02, time};
    if (time)
        csp_buf_add(bytes, packet, sizeof packet);
}

static void add_window(struct csp_buf *frames, const struct window *window)
{
    static const uint8_t enabling[] = {0,    0,    0, 0, 0, 0, 0, 0, 0, 0,    0, 0x80, /* A-Sync */
                                       0x01, 0x00, /* Trace Info */
                                       0x04,       /* TRACE_ON */
                                       0x85, 0,    0, 1, 0, 0, 0, 0, 0, 0xb0, 7, 0,    0, 0};
    static const uint8_t interrupt[] = {0x06, 0x1c, 0x95, 0x00}; /* IRQ, returns to 10000 */
    struct csp_buf bytes = {0};
    csp_buf_add(&bytes, enabling, sizeof enabling);
    add_time(&bytes, window->before);
    for (unsigned i = 0; i < window->atoms; i++) {
        static const uint8_t taken = 0xf7;
        csp_buf_add(&bytes, &taken, 1);
        add_time(&bytes, i == window->atoms / 2u ? window->within : 0);
    }
    csp_buf_add(&bytes, interrupt, sizeof interrupt);
    add_time(&bytes, window->behind);
    /* Frames: the ID first, and at the end the ID of padding. */
    for (size_t at = 0, first = 1; at < bytes.len; first = 0) {
        uint8_t frame[16] = {0};
        for (unsigned i = 0; i < 15; i++) {
            uint8_t byte = at < bytes.len ? (uint8_t)bytes.data[at] : 0;
            bool is_id = i % 2 == 0 && ((first && i == 0) || at == bytes.len);
            if (is_id) {
                frame[i] = i == 0 && first ? (ID << 1 | 1) : 1;
                continue;
            }
            frame[i] = i % 2 ? byte : byte & 0xfe;
            frame[15] |= (uint8_t)(i % 2 ? 0 : (byte & 1) << (i / 2));
            at += at < bytes.len;
        }
        csp_buf_add(frames, frame, sizeof frame);
    }
    csp_buf_free(&bytes);
}

struct trace {
    struct csp_trace_input input;
    CSP_VEC(struct csp_buf) buffers;
};

static void begin_trace(struct trace *trace, const struct csp_trace_config *config)
{
    *trace = (struct trace){.input = {.open_code = open_code}};
    csp_vec_push(&trace->input.streams,
                 (struct csp_stream){.name = "test", .formatted = true, .source_count = 1});
    csp_vec_push(&trace->input.sources, (struct csp_source){.name = "source", .config = *config});
}

static void add_chunk(struct trace *trace, struct csp_buf buffer)
{
    csp_vec_push(&trace->buffers, buffer);
    csp_big_vec_push(
        &trace->input.streams.data[0].chunks,
        (struct csp_chunk){
            .data = (const uint8_t *)buffer.data, .size = buffer.len, .time = 1, .tid = 7});
}

static void end_trace(struct trace *trace)
{
    for (size_t i = 0; i < trace->buffers.len; i++)
        csp_buf_free(&trace->buffers.data[i]);
    csp_vec_free(&trace->buffers);
    csp_trace_input_free(&trace->input);
}

static void no_print(void *user, struct csp_buf *text, const struct csp_element *elements,
                     size_t count)
{
    (void)user, (void)text, (void)elements, (void)count;
}

static int describe(void *user, struct csp_trace_part *part)
{
    struct csp_buf *text = user;
    for (size_t d = 0; d < part->done.len; d++) {
        struct csp_windows list = csp_trace_part_windows(part, &part->done.data[d]);
        for (size_t w = 0; w < list.windows.len; w++) {
            const struct csp_window *window = &list.windows.data[w];
            csp_buf_printf(text, "window at %llu enabled %d cut %d\n",
                           (unsigned long long)window->trace_offset, window->enabled, window->cut);
            for (uint32_t r = 0; r < window->run_len; r++) {
                const struct csp_run *run = &list.runs.data[window->run_first + r];
                csp_buf_printf(text, "  %llx-%llx time %llu-%llu context %llu el %u how %u\n",
                               (unsigned long long)run->start, (unsigned long long)run->end,
                               (unsigned long long)run->first_ts, (unsigned long long)run->last_ts,
                               (unsigned long long)run->context_id, run->el, run->how);
                csp_buf_printf(text, "  returns to %llx exception %u ranges %u instructions %llu\n",
                               (unsigned long long)run->return_address, run->exception, run->ranges,
                               (unsigned long long)run->instructions);
                struct csp_branch_reader reader = csp_run_branches(&list, run);
                for (uint32_t b = 0; b < run->branch_len; b++) {
                    const struct csp_branch branch = csp_branch_decode(&reader);
                    csp_buf_printf(text, "    %llx>%llx %u\n", (unsigned long long)branch.from,
                                   (unsigned long long)branch.to, branch.kind);
                }
            }
        }
    }
    return 0;
}

/* As text; `each` has every window decoded, because somebody looks at elements. */
static struct csp_buf decode(const struct trace *trace, bool each, struct csp_trace_stats *stats)
{
    struct csp_buf text = {0};
    struct csp_trace_consumer consumer = {
        .print = each ? no_print : NULL, .part = describe, .user = &text};
    struct csp_trace_decode_options options = {
        .create = csp_engine_create_native, .threads = 1, .consumer = &consumer};
    *stats = (struct csp_trace_stats){0};
    assert_int_equal(csp_trace_decode(&trace->input, &options, stats, NULL), 0);
    csp_buf_add(&text, "", 1);
    return text;
}

static uint64_t compare(const struct trace *trace)
{
    struct csp_trace_stats stats[2];
    struct csp_buf each = decode(trace, true, &stats[0]), once = decode(trace, false, &stats[1]);
    assert_string_equal(once.data, each.data);
    assert_memory_equal(&stats[1].windows, &stats[0].windows, sizeof stats[0].windows);
    assert_memory_equal(&stats[1].engine, &stats[0].engine, sizeof stats[0].engine);
    assert_int_equal(stats[0].recalled, 0);
    csp_buf_free(&each);
    csp_buf_free(&once);
    return stats[1].recalled;
}

static const struct csp_trace_config config = {
    .trace_id = ID, .configr = 1u << 6 | 1u << 11, .idr1 = 0x4100f421, .idr2 = 0x80};

static void windows_that_differ_in_time_alone_are_decoded_twice_and_then_recalled(void **state)
{
    static const struct window windows[] = {
        {5, 10, 11, 12}, {5, 20, 30, 40},               /* seen, learnt */
        {5, 50, 60, 70}, {5, 1, 2, 3},                  /* recalled */
        {6, 50, 60, 70},                                /* another */
        {7, 0, 60, 70},  {7, 0, 6, 7},    {7, 0, 8, 9}, /* no time before: seen, learnt, recalled */
    };
    struct trace trace;
    (void)state;
    begin_trace(&trace, &config);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct csp_buf frames = {0};
        add_window(&frames, &windows[i]);
        add_chunk(&trace, frames);
    }
    assert_int_equal(compare(&trace), 3);
    end_trace(&trace);
}

/* Of which value a run's time was cannot be told: another window may say it of the other. */
static void windows_with_equal_times_are_not_learnt(void **state)
{
    static const struct window windows[] = {
        {5, 10, 10, 10}, {5, 20, 20, 20}, {5, 30, 30, 30}, {5, 40, 41, 42}};
    struct trace trace;
    (void)state;
    begin_trace(&trace, &config);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct csp_buf frames = {0};
        add_window(&frames, &windows[i]);
        add_chunk(&trace, frames);
    }
    assert_int_equal(compare(&trace), 0);
    end_trace(&trace);
}

/* All packets there are, and windows that are neither whole nor in code that is known. */
static void random_traces_decode_as_if_each_were_decoded(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct csp_generated_trace *first = csp_generate_trace(seed, 30);
        struct csp_trace_config generated = first->config;
        struct trace trace;
        generated.trace_id = ID;
        begin_trace(&trace, &generated);
        for (unsigned i = 0; i < 6; i++) {
            struct csp_buf frames = {0};
            csp_generated_frames(first, seed, &frames);
            add_chunk(&trace, frames);
        }
        compare(&trace);
        end_trace(&trace);
        csp_generated_trace_free(first);
    }
}

static int make_blocks(void **state)
{
    (void)state;
    blocks = csp_block_cache_create(code, sizeof code);
    return 0;
}

static int free_blocks(void **state)
{
    (void)state;
    csp_block_cache_destroy(blocks);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_that_differ_in_time_alone_are_decoded_twice_and_then_recalled),
        cmocka_unit_test(windows_with_equal_times_are_not_learnt),
        cmocka_unit_test(random_traces_decode_as_if_each_were_decoded),
    };
    return cmocka_run_group_tests(tests, make_blocks, free_blocks);
}
