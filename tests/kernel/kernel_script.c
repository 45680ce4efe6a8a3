/* Takes an emulated recording apart into what perf_kernel.so plays, and the registers of its trace
 * unit for sysfs.
 *
 *     kernel_script RECORDING SCRIPT TREE */
#include "base/file.h"
#include "perf_kernel.h"
#include "perfdata/perfdata.h"

#include <stdio.h>
#include <string.h>

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    if (severity >= CSP_WARNING)
        fprintf(stderr, "kernel_script: %s\n", message);
}

struct waiting { /* a sample that the trace before it must precede */
    uint64_t time;
    enum pk_kind kind;
    struct pk_sample sample;
    uint64_t *chain;
};

struct maker {
    FILE *out;
    CSP_VEC(struct waiting) waiting;
    struct csp_perfdata *reader;
    struct csp_auxtrace aux;
    struct csp_map fragment_of; /* by the ordinal of its AUX record: number + 1 */
    struct pk_script_header header;
};

static void put(struct maker *maker, uint64_t time, enum pk_kind kind, const void *first,
                size_t first_size, const void *second, size_t second_size)
{
    static const char zeroes[8];
    size_t size = first_size + second_size;
    struct pk_entry entry = {time, kind, (uint32_t)size};
    if (!time)
        time = entry.time = maker->header.first_time;
    if (!maker->header.first_time)
        maker->header.first_time = time;
    maker->header.last_time = time;
    maker->header.count++;
    fwrite(&entry, sizeof entry, 1, maker->out);
    fwrite(first, 1, first_size, maker->out);
    fwrite(second, 1, second_size, maker->out);
    fwrite(zeroes, 1, -size & 7, maker->out);
}

static void put_sample(struct maker *maker, const struct csp_record *record)
{
    struct csp_sample_record sample;
    const struct csp_attr *attr = csp_perfdata_attr(maker->reader, record->attr);
    if (!(attr->aux_action & (CSP_AUX_PAUSE | CSP_AUX_RESUME)) ||
        !csp_sample_parse(attr, record, &sample))
        return;
    struct pk_sample out = {.pid = record->pid,
                            .tid = record->tid,
                            .ip = sample.ip,
                            .pc = sample.ip,
                            .chain_len = sample.callchain_len};
    uint64_t *chain = csp_malloc(8 * out.chain_len + 8);
    for (uint64_t i = 0; i < sample.callchain_len; i++)
        chain[i] = csp_sample_frame(&sample, i);
    csp_sample_user_register(attr, &sample, 30, &out.lr);
    csp_sample_user_register(attr, &sample, 31, &out.sp);
    csp_sample_user_register(attr, &sample, 32, &out.pc);
    bool pause = attr->aux_action & CSP_AUX_PAUSE;
    maker->header.windows += pause;
    csp_vec_push(
        &maker->waiting,
        (struct waiting){record->time, pause ? PK_SAMPLE_PAUSE : PK_SAMPLE_RESUME, out, chain});
}

static void put_waiting(struct maker *maker)
{
    for (size_t i = 0; i < maker->waiting.len; i++) {
        struct waiting *sample = &maker->waiting.data[i];
        put(maker, sample->time, sample->kind, &sample->sample, sizeof sample->sample,
            sample->chain, 8 * sample->sample.chain_len);
        free(sample->chain);
    }
    maker->waiting.len = 0;
}

static void put_record(struct maker *maker, const struct csp_record *record)
{
    struct pk_record out = {
        .type = record->type, .misc = record->misc, .pid = record->pid, .tid = record->tid};
    put(maker, record->time, PK_RECORD, &out, sizeof out, record->body, record->body_size);
}

/* Where the next enabling of the trace unit begins in some bytes, with A-Sync; else their end. */
static uint64_t next_enabling(const uint8_t *bytes, uint64_t size)
{
    static const uint8_t a_sync[12] = {[11] = 0x80};
    const uint8_t *found = memmem(bytes, size, a_sync, sizeof a_sync);
    return found ? (uint64_t)(found - bytes) : size;
}

/* A pause stops the trace unit, and all of its window is in the buffer before its sample is
 * written. The recording has the trace in small pieces that are cut anywhere, so that the end of a
 * window comes after its sample: it is put where it belongs. */
static void put_trace(struct maker *maker, const struct csp_record *record)
{
    const uint64_t *number = csp_map_find(&maker->fragment_of, record->ordinal);
    if (!number)
        return;
    const struct csp_aux_fragment *fragment = &maker->aux.fragments.data[*number - 1];
    for (uint32_t i = 0; i < csp_aux_piece_count(fragment); i++) {
        const struct csp_aux_piece piece = csp_aux_piece(&maker->aux, fragment, i);
        uint64_t early = maker->waiting.len ? next_enabling(piece.data, piece.size) : 0;
        if (early)
            put(maker, maker->waiting.data[0].time - 1, PK_BYTES, piece.data, early, NULL, 0);
        put_waiting(maker);
        if (early < piece.size)
            put(maker, record->time, PK_BYTES, piece.data + early, piece.size - early, NULL, 0);
    }
}

static void take_record(struct maker *maker, const struct csp_record *record)
{
    struct csp_time_conv_event conv;
    switch (record->type) {
    case CSP_RECORD_SAMPLE:
        put_sample(maker, record);
        break;
    case CSP_RECORD_AUX:
        put_trace(maker, record);
        break;
    case CSP_RECORD_MMAP2:
    case CSP_RECORD_COMM:
    case CSP_RECORD_FORK:
    case CSP_RECORD_EXIT:
        put_record(maker, record);
        break;
    default:
        if (!csp_record_time_conv(record, &conv))
            break;
        maker->header.time_shift = conv.time_shift;
        maker->header.time_mult = conv.time_mult;
        maker->header.time_zero = conv.time_zero;
    }
}

/* Lines as those of tests/golden/doctor: a path below cs_etm/cpuN and what is in the file. */
static void print_registers(const struct maker *maker, const char *path)
{
    static const struct {
        int param;
        const char *file;
    } registers[] = {{CSP_ETM_IDR0, "trcidr/trcidr0"},
                     {CSP_ETM_IDR1, "trcidr/trcidr1"},
                     {CSP_ETM_IDR2, "trcidr/trcidr2"},
                     {CSP_ETM_IDR8, "trcidr/trcidr8"},
                     {CSP_ETM_AUTHSTATUS, "mgmt/trcauthstatus"},
                     {CSP_ETE_DEVARCH, "mgmt/trcdevarch"},
                     {CSP_ETE_TS_SOURCE, "ts_source"}};
    const struct csp_cs_etm_cpu *unit = &maker->aux.cs_etm.cpus.data[0];
    FILE *file = fopen(path, "w");
    for (size_t i = 0; file && i < sizeof registers / sizeof *registers; i++)
        fprintf(file, "%s = 0x%llx\n", registers[i].file,
                (unsigned long long)unit->params[registers[i].param]);
    if (file)
        fclose(file);
}

static int make(struct maker *maker, struct csp_diag *diag)
{
    struct csp_records *records;
    struct csp_record record;
    int error = csp_records_open(&records, maker->reader, CSP_ORDER_TIME, diag);
    if (error)
        return error;
    while (csp_records_next(records, &record))
        csp_auxtrace_add(&maker->aux, &record, diag);
    csp_auxtrace_finish(&maker->aux, diag);
    for (size_t i = 0; i < maker->aux.fragments.len; i++)
        *csp_map_at(&maker->fragment_of, maker->aux.fragments.data[i].ordinal) = i + 1;
    maker->header.magic = PK_MAGIC;
    csp_records_rewind(records);
    while (csp_records_next(records, &record))
        if (record.time && !maker->header.first_time)
            maker->header.first_time = record.time;
    fwrite(&maker->header, sizeof maker->header, 1, maker->out);
    csp_records_rewind(records);
    while (csp_records_next(records, &record))
        take_record(maker, &record);
    put_waiting(maker);
    csp_vec_free(&maker->waiting);
    rewind(maker->out);
    fwrite(&maker->header, sizeof maker->header, 1, maker->out);
    csp_records_close(records);
    return maker->aux.cs_etm.cpus.len && maker->header.windows ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = print_message};
    struct csp_file file;
    struct maker maker = {0};
    if (argc != 4)
        return 2;
    maker.out = fopen(argv[2], "w");
    if (!maker.out || csp_file_map(&file, argv[1], &diag) ||
        csp_perfdata_open(&maker.reader, &file, &diag) || make(&maker, &diag))
        return 1;
    print_registers(&maker, argv[3]);
    printf("%llu windows\n", (unsigned long long)maker.header.windows);
    csp_auxtrace_free(&maker.aux);
    csp_map_free(&maker.fragment_of);
    csp_perfdata_close(maker.reader);
    csp_file_unmap(&file);
    return fclose(maker.out) ? 1 : 0;
}
