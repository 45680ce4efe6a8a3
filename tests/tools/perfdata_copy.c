/* Copies a perf.data file through the reader and the writer: records that the writer knows are
 * taken apart and written anew, others as they are. perf must see the same in both.
 *
 *     perfdata_copy IN OUT [LEVEL]       # with a level, compressed
 */
#include "base/file.h"
#include "perfdata/perfdata.h"

#include <stdio.h>
#include <stdlib.h>

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    if (severity >= CSP_WARNING)
        fprintf(stderr, "%s: %s\n", severity == CSP_FAILURE ? "error" : "warning", message);
}

static bool copy_kernel_record(struct csp_writer *writer, const struct csp_record *record)
{
    struct csp_writer_id id = csp_copy_id(record);
    union {
        struct csp_aux_event aux;
        struct csp_itrace_start_event start;
        struct csp_switch_event change;
        struct csp_lost_event lost;
    } event;
    if (csp_copy_task_record(writer, &id, record))
        return true;
    if (csp_record_aux(record, &event.aux))
        csp_write_aux(writer, &id, &event.aux);
    else if (csp_record_itrace_start(record, &event.start))
        csp_write_itrace_start(writer, &id, &event.start);
    else if (csp_record_switch(record, &event.change))
        csp_write_switch(writer, &id, &event.change);
    else if (record->type == CSP_RECORD_LOST && csp_record_lost(record, &event.lost))
        csp_write_lost(writer, &id, &event.lost);
    else
        return false;
    return true;
}

/* The arrays of a sample, copied to where they are aligned. */
struct arrays {
    CSP_VEC(uint64_t) chain;
    CSP_VEC(uint64_t) registers;
    CSP_VEC(struct csp_writer_branch) branches;
};

static bool copy_sample(struct csp_writer *writer, const struct csp_attr *attr,
                        const struct csp_record *record, struct arrays *arrays)
{
    struct csp_sample_record sample;
    struct csp_writer_id id = csp_copy_id(record);
    if (!csp_sample_parse(attr, record, &sample))
        return false;
    arrays->chain.len = arrays->registers.len = arrays->branches.len = 0;
    for (uint64_t i = 0; i < sample.callchain_len; i++)
        csp_vec_push(&arrays->chain, csp_sample_frame(&sample, i));
    for (uint64_t i = 0; i < sample.branch_len; i++) {
        struct csp_branch_entry entry = csp_sample_branch(&sample, i);
        csp_vec_push(&arrays->branches,
                     (struct csp_writer_branch){entry.from, entry.to, entry.flags});
    }
    for (unsigned i = 0; i < 64; i++) {
        uint64_t value;
        if (csp_sample_user_register(attr, &sample, i, &value))
            csp_vec_push(&arrays->registers, value);
    }
    return csp_write_sample(writer, &id,
                            &(struct csp_writer_sample){
                                .misc = record->misc,
                                .ip = sample.ip,
                                .addr = sample.addr,
                                .period = sample.period,
                                .callchain = arrays->chain.data,
                                .callchain_len = (uint32_t)arrays->chain.len,
                                .branches = arrays->branches.data,
                                .branch_len = (uint32_t)arrays->branches.len,
                                .regs_user = sample.regs_user ? arrays->registers.data : NULL,
                                .aux = sample.aux,
                                .aux_size = sample.aux_size,
                            });
}

static bool copy_own_record(struct csp_writer *writer, const struct csp_record *record)
{
    union {
        struct csp_auxtrace_event auxtrace;
        struct csp_time_conv_event conv;
        struct csp_cs_etm_info info;
    } event;
    CSP_VEC(struct csp_id_index_event) entries = {0};
    struct csp_id_index_event entry;
    if (csp_record_auxtrace(record, &event.auxtrace)) {
        csp_write_auxtrace(writer, &event.auxtrace, record->payload);
    } else if (csp_record_time_conv(record, &event.conv)) {
        csp_write_time_conv(writer, &event.conv);
    } else if (record->type == CSP_RECORD_AUXTRACE_INFO &&
               csp_cs_etm_info_parse(&event.info, record, "input", NULL) == 0) {
        csp_write_auxtrace_info(writer, &event.info);
        csp_cs_etm_info_free(&event.info);
    } else if (record->type == CSP_RECORD_ID_INDEX) {
        for (size_t i = 0; csp_record_id_index(record, i, &entry); i++)
            csp_vec_push(&entries, entry);
        csp_write_id_index(writer, entries.data, entries.len);
        csp_vec_free(&entries);
    } else if (record->type == CSP_RECORD_FINISHED_ROUND) {
        csp_write_finished_round(writer);
    } else {
        return false;
    }
    return true;
}

static int copy(const struct csp_perfdata *reader, const char *path, int level,
                struct csp_diag *diag)
{
    struct csp_writer *writer = NULL;
    struct csp_records *records = NULL;
    struct csp_record record;
    struct arrays arrays = {0};
    uint64_t renewed = 0, raw = 0;
    int error = csp_writer_open(&writer, path, csp_perfdata_attr(reader, 0),
                                csp_perfdata_attr_count(reader), diag);
    if (!error)
        error = csp_records_open(&records, reader, CSP_ORDER_FILE, diag);
    if (!error && level && !csp_writer_compress(writer, level))
        error = csp_fail(diag, CSP_ERR_USAGE, "no level of zstd: %d", level);
    if (!error)
        csp_copy_info(writer, csp_perfdata_info(reader));
    while (!error && csp_records_next(records, &record)) {
        const struct csp_attr *attr = csp_perfdata_attr(reader, record.attr);
        if (record.type == CSP_RECORD_SAMPLE ? copy_sample(writer, attr, &record, &arrays)
            : record.type < CSP_RECORD_USER  ? copy_kernel_record(writer, &record)
                                             : copy_own_record(writer, &record)) {
            renewed++;
        } else {
            csp_write_raw(writer, record.body - 8, record.size);
            raw++;
        }
    }
    printf("written anew: %llu, as they are: %llu\n", (unsigned long long)renewed,
           (unsigned long long)raw);
    csp_records_close(records);
    csp_vec_free(&arrays.chain);
    csp_vec_free(&arrays.registers);
    csp_vec_free(&arrays.branches);
    int close_error = csp_writer_close(writer, diag);
    return error ? error : close_error;
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = print_message};
    struct csp_file file;
    struct csp_perfdata *reader = NULL;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: perfdata_copy IN OUT [LEVEL]\n");
        return CSP_EXIT_USAGE;
    }
    int error = csp_file_map(&file, argv[1], &diag);
    if (error)
        return (int)csp_error_exit(error);
    error = csp_perfdata_open(&reader, &file, &diag);
    if (!error)
        error = copy(reader, argv[2], argc == 4 ? atoi(argv[3]) : 0, &diag);
    csp_perfdata_close(reader);
    csp_file_unmap(&file);
    return (int)csp_error_exit(error);
}
