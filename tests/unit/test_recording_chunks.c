/* Chunks that AUX records' trace is put into: pieces beside what becomes of them. */
#include "unit.h"

#include "base/big_vec.h"
#include "base/buf.h"
#include "decode/recording_chunks.h"

#include <inttypes.h>
#include <string.h>

struct piece {
    uint64_t begin, end; /* in the ring's stream */
};

struct fragment {
    uint64_t time, begin, end; /* as announced */
    struct piece pieces[3];
};

static const uint8_t trace[100] = {[0] = 1, [50] = 2};

static void add_fragment(struct csp_auxtrace *aux, const struct fragment *from, bool raw)
{
    struct csp_aux_fragment fragment = {.time = from->time,
                                        .aux_offset = from->begin,
                                        .aux_size = from->end - from->begin,
                                        .piece_first = (uint32_t)aux->pieces.len,
                                        .raw = raw};
    const struct piece *first = from->pieces;
    if (first->end && first->begin == from->begin && first->end == from->end) {
        fragment.is_whole = true;
        fragment.data = trace + first->begin;
    }
    for (const struct piece *piece = first; piece->end && !fragment.is_whole; piece++) {
        struct csp_aux_piece stored = {trace + piece->begin, piece->end - piece->begin,
                                       piece->begin};
        csp_big_vec_push(&aux->pieces, stored);
        fragment.piece_count++;
    }
    csp_big_vec_push(&aux->fragments, fragment);
}

/* "[begin-end begin-end since time flags]" of each chunk. */
static void print(struct csp_buf *text, const struct csp_stream *stream)
{
    for (size_t i = 0; i < stream->chunks.len; i++) {
        const struct csp_chunk *chunk = &stream->chunks.data[i];
        uint64_t size = 0;
        csp_buf_add_string(text, "[");
        for (size_t p = 0; p < csp_chunk_piece_count(chunk); p++) {
            const struct csp_trace_piece piece = csp_chunk_piece(chunk, p);
            csp_buf_printf(text, "%td-%td ", piece.data - trace,
                           piece.data - trace + (ptrdiff_t)piece.size);
            size += piece.size;
        }
        assert_int_equal(chunk->size, size);
        csp_buf_printf(text, "%" PRIu64 " %" PRIu64 "%s%s]", chunk->since, chunk->time,
                       chunk->lost ? " lost" : "", chunk->continues ? " continues" : "");
    }
}

static void check(const struct fragment *fragments, bool raw, const char *expected)
{
    struct csp_auxtrace aux = {0};
    struct csp_stream stream = {.formatted = !raw};
    struct csp_arena arena = {0};
    struct csp_buf text = {0};
    csp_fragment_list list = {0};
    for (; fragments->end; fragments++) {
        csp_big_vec_push(&list, (uint32_t)aux.fragments.len);
        add_fragment(&aux, fragments, raw);
    }
    csp_vec_push(&aux.queues, (struct csp_aux_queue){
                                  .idx = 7, .fragment_count = (uint32_t)list.len, .end = 100});
    struct csp_stream_contents contents = csp_stream_fill(&stream, &aux, &list, &arena);
    assert_int_equal(contents.first_ring, 7);
    assert_int_equal(contents.last_ring, 7);
    csp_auxtrace_free(&aux); /* the stream needs nothing of it */
    print(&text, &stream);
    csp_buf_add_char(&text, 0);
    assert_string_equal(text.data, expected);
    csp_buf_free(&text);
    csp_arena_free(&arena);
    csp_big_vec_free(&stream.chunks);
    csp_big_vec_free(&list);
}

static void in_frames(void **state)
{
    (void)state;
    check((const struct fragment[]){{100, 0, 10, {{0, 10}}}, {200, 10, 30, {{10, 30}}}, {0}}, false,
          "[0-10 0 100][10-30 100 200]");
    /* In two pieces that lie in several records of the file. */
    check((const struct fragment[]){{100, 0, 30, {{0, 10}, {10, 30}}}, {0}}, false,
          "[0-10 10-30 0 100]");
    /* With a hole between pieces, and without its end. */
    check((const struct fragment[]){{100, 0, 40, {{0, 10}, {20, 25}, {25, 30}}}, {0}}, false,
          "[0-10 0 100 lost][20-25 25-30 100 100 lost]");
    /* A record of which nothing is stored; one without a time. */
    check((const struct fragment[]){{100, 0, 10, {{0, 10}}},
                                    {200, 10, 20, {{0}}},
                                    {0, 20, 30, {{20, 30}}},
                                    {300, 30, 40, {{30, 40}}},
                                    {0}},
          false, "[0-10 0 100][20-30 100 0][30-40 18446744073709551615 300]");
}

static void raw(void **state)
{
    (void)state;
    check((const struct fragment[]){{100, 0, 10, {{0, 10}}}, {200, 10, 100, {{10, 100}}}, {0}},
          true, "[0-10 0 100][10-100 100 200 continues]");
    /* What lies between two records was not announced, nor was what is stored behind the last. */
    check((const struct fragment[]){{100, 0, 10, {{0, 10}}}, {200, 20, 60, {{20, 60}}}, {0}}, true,
          "[0-10 0 100 lost][20-60 100 200 lost]");
    /* There was no room for the second at all. */
    check((const struct fragment[]){{100, 0, 10, {{0, 10}}}, {200, 10, 20, {{0}}}, {0}}, true,
          "[0-10 0 100 lost]");
}

/* More than a page's worth of fragments, which give their memory back as long as they are in
 * order: what is not in the stream yet stays. */
static void check_many(uint32_t swapped)
{
    enum { MANY = 100000 };
    struct csp_auxtrace aux = {0};
    struct csp_stream stream = {.formatted = true};
    struct csp_arena arena = {0};
    csp_fragment_list list = {0};
    for (uint32_t i = 0; i < MANY; i++) {
        const struct fragment fragment = {i + 1, i, i + 1, {{0, 1}}};
        csp_big_vec_push(&list, i);
        add_fragment(&aux, &fragment, false);
    }
    list.data[swapped] = swapped + 1;
    list.data[swapped + 1] = swapped;
    csp_vec_push(&aux.queues, (struct csp_aux_queue){.fragment_count = MANY, .end = MANY});
    struct csp_stream_contents contents = csp_stream_fill(&stream, &aux, &list, &arena);
    assert_int_equal(contents.bytes, MANY);
    assert_int_equal(stream.chunks.len, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(stream.chunks.data[i].time, list.data[i] + 1);
        assert_int_equal(stream.chunks.data[i].size, 1);
    }
    csp_auxtrace_free(&aux);
    csp_arena_free(&arena);
    csp_big_vec_free(&stream.chunks);
    csp_big_vec_free(&list);
}

static void many(void **state)
{
    (void)state;
    check_many(99998);
    check_many(40000);
    check_many(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_frames),
        cmocka_unit_test(raw),
        cmocka_unit_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
