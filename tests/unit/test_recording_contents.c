/* What records say does not depend on where they are in the file, or on how many threads read it.
 */
#include "unit.h"

#include "decode/recording_contents.h"
#include "perfdata_image.h"

#include <stdlib.h>

enum { SAMPLES = 20000, CPUS = 3, CALLCHAIN = 20 };

static const struct csp_attr pause_event = {
    .type = 1,
    .sample_type =
        CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_CPU | CSP_SAMPLE_CALLCHAIN,
    .flags = UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL,
    .aux_action = CSP_AUX_PAUSE,
};

/* As of a thread that is another process's from half of the recording on. */
static uint32_t pid_at(uint64_t time)
{
    return time < SAMPLES / 2 ? 8 : 9;
}

static void add_ids(struct csp_buf *image, uint32_t tid, uint64_t time, uint32_t cpu)
{
    csp_buf_add_u32(image, pid_at(time));
    csp_buf_add_u32(image, tid);
    csp_buf_add_u64(image, time);
    csp_buf_add_u64(image, cpu);
}

static void add_sample(struct csp_buf *image, uint64_t time)
{
    image_record(image, CSP_RECORD_SAMPLE, 0, 8 + 5 * 8 + 8 * CALLCHAIN);
    csp_buf_add_u64(image, 0x1000 + time);
    add_ids(image, 5, time, (uint32_t)(time % CPUS));
    csp_buf_add_u64(image, CALLCHAIN);
    for (int i = 0; i < CALLCHAIN; i++)
        csp_buf_add_u64(image, i ? 0x1000 + time : CSP_CONTEXT_USER);
}

static void add_switch(struct csp_buf *image, uint64_t time, uint32_t cpu)
{
    image_record(image, CSP_RECORD_SWITCH, 0, 8 + 24);
    add_ids(image, cpu == CSP_NO_TID ? CSP_NO_TID : 5, time, cpu);
}

/* Samples at all times from 1 on, but the later ones first, and a switch before, within and behind
 * them. */
static void add_records(struct csp_buf *image)
{
    image_begin(image, &pause_event);
    add_switch(image, SAMPLES + 10, 1);
    add_switch(image, 0, 1);
    for (uint64_t time = SAMPLES / 2; time < SAMPLES; time++)
        add_sample(image, time);
    for (uint64_t time = 1; time < SAMPLES / 2; time++)
        add_sample(image, time);
    add_switch(image, 4, CSP_NO_TID);
    add_switch(image, 2, CSP_NO_TID);
    image_end(image);
}

static void check_stream(const struct csp_pause_stream *stream, uint64_t first)
{
    assert_int_equal(stream->cpu, first % CPUS);
    for (size_t i = 0; i < stream->pauses.len; i++) {
        uint64_t time = first + CPUS * i;
        assert_int_equal(stream->pauses.data[i].time, time);
        assert_int_equal(stream->pauses.data[i].pc, 0x1000 + time);
        assert_int_equal(csp_load64(stream->pauses.data[i].sample), 0x1000 + time);
    }
    assert_int_equal(stream->pauses.len, (SAMPLES - first + CPUS - 1) / CPUS);
}

static void check(const struct csp_buf *image, unsigned threads)
{
    struct csp_file file = image_file(image);
    struct csp_perfdata *reader;
    struct csp_records *kept = NULL;
    struct csp_recording_contents contents = {0};
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    assert_int_equal(csp_recording_contents_read(&contents, reader, threads, &kept, NULL), 0);
    assert_null(kept);
    assert_int_equal(contents.samples, SAMPLES - 1);
    assert_int_equal(contents.pauses.pauses, SAMPLES - 1);
    assert_int_equal(contents.pauses.streams.len, CPUS);
    for (uint64_t first = 1; first <= CPUS; first++)
        check_stream(&contents.pauses.streams.data[first - 1], first);
    /* The switch on CPU 1 at 0 was before its first sample, that of anybody at 2 before that of CPU
     * 0, and at the time of, but behind, that of CPU 2. */
    const struct csp_pause_stream *one = &contents.pauses.streams.data[0];
    assert_int_equal(one->switches.len, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(one->switches.data[i], ((uint64_t[]){2, 4, SAMPLES + 10})[i]);
    assert_int_equal(contents.pauses.streams.data[1].switches.len, 2);
    assert_int_equal(contents.pauses.streams.data[2].switches.len, 1);
    assert_int_equal(contents.owners.owners.len, 1);
    assert_int_equal(contents.owners.owners.data[0].tid, 5);
    assert_int_equal(contents.owners.owners.data[0].pid, 9);
    csp_recording_contents_free(&contents);
    csp_perfdata_close(reader);
}

static void contents_are_in_time_order(void **state)
{
    (void)state;
    struct csp_buf image;
    add_records(&image);
    assert_true(image.len > 3 << 20); /* several sections */
    check(&image, 1);
    check(&image, 2);
    check(&image, 7);
    csp_buf_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_are_in_time_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
