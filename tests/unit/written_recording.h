/* Recordings that csp_writer writes into a file and csp_perfdata reads again. */
#ifndef CSP_TESTS_WRITTEN_RECORDING_H
#define CSP_TESTS_WRITTEN_RECORDING_H

#include "unit.h"

#include "perfdata/perfdata.h"

#include <string.h>
#include <unistd.h>

/* A recording such as `csprof collect` makes: a trace event and a sampling event that pauses it. */
static const uint64_t trace_ids[] = {11, 12}, pause_ids[] = {21, 22};
static const struct csp_attr attrs[] = {
    {
        .type = 10,
        .config = 0x10008000,
        .sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME |
                       CSP_SAMPLE_CPU,
        .flags = 1 << CSP_ATTR_EXCLUDE_KERNEL | 1 << CSP_ATTR_MMAP2,
        .aux_action = CSP_AUX_START_PAUSED,
        .name = "cs_etm//u",
        .ids = trace_ids,
        .id_count = 2,
    },
    {
        .type = 4,
        .config = 0x11,
        .sample_period = 1000,
        .sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME |
                       CSP_SAMPLE_CPU | CSP_SAMPLE_PERIOD | CSP_SAMPLE_CALLCHAIN |
                       CSP_SAMPLE_BRANCH_STACK | CSP_SAMPLE_REGS_USER | CSP_SAMPLE_AUX,
        .sample_regs_user = UINT64_C(1) << 30 | UINT64_C(1) << 32, /* lr and pc */
        .aux_action = CSP_AUX_PAUSE,
        .name = "cpu_cycles/period=1000/u",
        .ids = pause_ids,
        .id_count = 2,
    },
};

static const struct csp_writer_id trace_id = {
    .attr = 0, .pid = 100, .tid = 101, .cpu = 1, .time = 5000, .id = 12};
static const struct csp_writer_id pause_id = {
    .attr = 1, .pid = 100, .tid = 101, .cpu = 1, .time = 6000, .id = 22};

struct recording {
    char path[32];
    struct csp_writer *writer;
    struct csp_file file;
    struct csp_perfdata *reader;
    struct csp_records *records;
    struct csp_diag diag;
};

static inline void begin(struct recording *recording)
{
    memset(recording, 0, sizeof *recording);
    strcpy(recording->path, "/tmp/csprof-test.XXXXXX");
    close(mkstemp(recording->path));
    assert_int_equal(csp_writer_open(&recording->writer, recording->path, attrs, 2, NULL), 0);
}

static inline void read_again(struct recording *recording)
{
    assert_int_equal(csp_file_map(&recording->file, recording->path, NULL), 0);
    assert_int_equal(csp_perfdata_open(&recording->reader, &recording->file, &recording->diag), 0);
    assert_int_equal(
        csp_records_open(&recording->records, recording->reader, CSP_ORDER_FILE, &recording->diag),
        0);
}

static inline void complete(struct recording *recording)
{
    assert_int_equal(csp_writer_close(recording->writer, NULL), 0);
    read_again(recording);
}

static inline struct csp_record next(struct recording *recording, uint32_t type)
{
    struct csp_record record;
    assert_true(csp_records_next(recording->records, &record));
    assert_int_equal(record.type, type);
    return record;
}

static inline void end(struct recording *recording)
{
    csp_records_close(recording->records);
    csp_perfdata_close(recording->reader);
    csp_file_unmap(&recording->file);
    unlink(recording->path);
}

static inline void end_cleanly(struct recording *recording)
{
    struct csp_record record;
    assert_false(csp_records_next(recording->records, &record));
    assert_int_equal(recording->diag.warnings, 0);
    end(recording);
}

static inline void assert_trace_id(const struct csp_record *record)
{
    assert_int_equal(record->attr, 0);
    assert_int_equal(record->pid, 100);
    assert_int_equal(record->tid, 101);
    assert_int_equal(record->cpu, 1);
    assert_int_equal(record->time, 5000);
    assert_int_equal(record->id, 12);
}

#endif
