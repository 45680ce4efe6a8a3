/* What csp_writer compresses, csp_perfdata reads: the same records in the same order. */
#include "written_recording.h"

enum { ROUNDS = 40, IN_ROUND = 500 };

/* Threads that come and go, with a round after each IN_ROUND of them. */
static void write_rounds(struct csp_writer *writer, unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < IN_ROUND; i++)
            csp_write_lost_samples(writer, &trace_id, round * IN_ROUND + i);
        csp_write_finished_round(writer);
    }
}

/* The same again, each record where it was in the order of the file. */
static void assert_rounds(struct recording *recording, unsigned rounds)
{
    struct csp_lost_event lost;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < IN_ROUND; i++) {
            struct csp_record record = next(recording, CSP_RECORD_LOST_SAMPLES);
            assert_trace_id(&record);
            assert_true(csp_record_lost(&record, &lost));
            assert_int_equal(lost.lost, round * IN_ROUND + i);
        }
        next(recording, CSP_RECORD_FINISHED_ROUND);
    }
}

static void compressed_records_are_the_same_in_the_same_order_and_smaller(void **state)
{
    (void)state;
    static const int levels[] = {1, 3, 22};
    for (size_t i = 0; i < 3; i++) {
        struct recording recording;
        uint64_t before, after;
        begin(&recording);
        assert_true(csp_writer_compress(recording.writer, levels[i]));
        write_rounds(recording.writer, ROUNDS);
        csp_writer_flush(recording.writer);
        csp_writer_compression(recording.writer, &before, &after);
        /* 8 of header, 8 of number, 32 of csp_writer_id */
        assert_int_equal(before, ROUNDS * IN_ROUND * 48);
        assert_true(after * 10 < before);
        complete(&recording);
        assert_true(recording.file.size < after + 2000);
        assert_rounds(&recording, ROUNDS);
        end_cleanly(&recording);
    }
}

/* Samples of 65,000 bytes that zstd cannot make smaller: each takes two COMPRESSED records. */
static void what_cannot_be_compressed_is_as_good(void **state)
{
    (void)state;
    enum { SAMPLES = 9, BYTES = 65000 };
    static uint8_t noise[SAMPLES][BYTES];
    struct recording recording;
    struct csp_sample_record decoded;
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof noise; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        noise[i / BYTES][i % BYTES] = (uint8_t)(random >> 56);
    }
    begin(&recording);
    assert_true(csp_writer_compress(recording.writer, 1));
    for (unsigned i = 0; i < SAMPLES; i++)
        assert_true(csp_write_sample(
            recording.writer, &pause_id,
            &(struct csp_writer_sample){.ip = i, .aux = noise[i], .aux_size = BYTES}));
    complete(&recording);
    assert_true(recording.file.size > SAMPLES * BYTES);
    for (unsigned i = 0; i < SAMPLES; i++) {
        struct csp_record record = next(&recording, CSP_RECORD_SAMPLE);
        assert_true(csp_sample_parse(csp_perfdata_attr(recording.reader, 1), &record, &decoded));
        assert_int_equal(decoded.ip, i);
        assert_int_equal(decoded.aux_size, BYTES);
        assert_memory_equal(decoded.aux, noise[i], BYTES);
    }
    assert_int_equal(csp_records_counts(recording.records)->by_type[CSP_RECORD_COMPRESSED],
                     2 * SAMPLES);
    end_cleanly(&recording);
}

/* Trace and what tells of it stay where they were among the records, and as they are: perf looks
 * for AUX records without expanding any. */
static void trace_between_compressed_records_is_written_as_it_is(void **state)
{
    (void)state;
    struct recording recording;
    begin(&recording);
    assert_true(csp_writer_compress(recording.writer, 1));
    csp_write_lost_samples(recording.writer, &trace_id, 5);
    csp_write_hw_id(recording.writer, &trace_id, &(struct csp_hw_id_event){.trace_id = 0x12});
    csp_write_aux(recording.writer, &trace_id, &(struct csp_aux_event){.aux_size = 5});
    csp_write_auxtrace(recording.writer, &(struct csp_auxtrace_event){.size = 5}, "trace");
    csp_write_lost_samples(recording.writer, &trace_id, 6);
    complete(&recording);
    next(&recording, CSP_RECORD_LOST_SAMPLES);
    uint64_t offset = next(&recording, CSP_RECORD_AUX_OUTPUT_HW_ID).offset;
    struct csp_record record = next(&recording, CSP_RECORD_AUX);
    assert_int_equal(record.offset, offset + 48); /* as it is: 8 of header, 8 of ID, 32 of id */
    record = next(&recording, CSP_RECORD_AUXTRACE);
    assert_memory_equal(record.payload, "trace\0\0", 8);
    next(&recording, CSP_RECORD_LOST_SAMPLES);
    assert_int_equal(csp_records_counts(recording.records)->by_type[CSP_RECORD_COMPRESSED], 2);
    end_cleanly(&recording);
}

/* The recorder is killed wherever: all COMPRESSED records that are whole can be read. */
static void a_killed_recorder_leaves_what_it_compressed(void **state)
{
    (void)state;
    struct recording recording;
    begin(&recording);
    assert_true(csp_writer_compress(recording.writer, 1));
    write_rounds(recording.writer, 2);
    csp_writer_flush(recording.writer);
    struct recording crashed = recording;
    read_again(&crashed);
    assert_true(csp_perfdata_info(crashed.reader)->unfinished);
    assert_rounds(&crashed, 2);
    assert_int_equal(crashed.diag.warnings, 1); /* that the file was not completed */
    struct csp_record record;
    assert_false(csp_records_next(crashed.records, &record));
    assert_int_equal(csp_records_counts(crashed.records)->lost_bytes, 0);
    csp_records_close(crashed.records);
    csp_perfdata_close(crashed.reader);
    size_t whole = crashed.file.size;
    csp_file_unmap(&crashed.file);

    write_rounds(recording.writer, 1);
    csp_writer_flush(recording.writer);
    assert_int_equal(truncate(recording.path, (off_t)whole + 20), 0); /* inside the third */
    crashed = recording;
    read_again(&crashed);
    assert_rounds(&crashed, 2);
    assert_false(csp_records_next(crashed.records, &record));
    assert_int_equal(csp_records_counts(crashed.records)->lost_bytes, 20);
    assert_int_equal(csp_writer_close(recording.writer, NULL), 0);
    end(&crashed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_records_are_the_same_in_the_same_order_and_smaller),
        cmocka_unit_test(what_cannot_be_compressed_is_as_good),
        cmocka_unit_test(trace_between_compressed_records_is_written_as_it_is),
        cmocka_unit_test(a_killed_recorder_leaves_what_it_compressed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
