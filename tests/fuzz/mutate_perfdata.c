/* The fuzzer's entry without a fuzzer: small recordings of all kinds, each changed a few thousand
 * times in the ways that hurt parsers. The same changes on every run.
 *
 *     mutate_perfdata [ROUNDS]
 */
#include "fuzz_perfdata.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "perfdata/perfdata.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

static const uint64_t first_ids[] = {11, 12}, second_ids[] = {21};
static const struct csp_attr attrs[] = {
    {.type = 10,
     .sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_CPU,
     .name = "cs_etm//u",
     .ids = first_ids,
     .id_count = 2},
    {.sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME |
                    CSP_SAMPLE_CALLCHAIN | CSP_SAMPLE_BRANCH_STACK | CSP_SAMPLE_REGS_USER |
                    CSP_SAMPLE_AUX,
     .sample_regs_user = 3,
     .name = "cycles:u",
     .ids = second_ids,
     .id_count = 1},
};

static void write_tasks(struct csp_writer *writer, const struct csp_writer_id *id)
{
    struct csp_mmap_event map = {
        .pid = 100, .tid = 100, .start = 0x1000, .length = 0x4000, .path = "/bin/app"};
    csp_write_mmap2(writer, id, CSP_MISC_CPUMODE_USER, &map);
    map.start = 0x2000;
    map.length = 0x1000;
    map.has_build_id = true;
    map.build_id.size = 20;
    csp_write_mmap2(writer, id, CSP_MISC_CPUMODE_USER, &map);
    csp_write_comm(writer, id, &(struct csp_comm_event){100, 100, "app", true});
    csp_write_fork(writer, id, &(struct csp_task_event){200, 100, 200, 100, 5});
    csp_write_exit(writer, id, &(struct csp_task_event){200, 100, 200, 100, 6});
}

static void write_trace(struct csp_writer *writer, const struct csp_writer_id *id)
{
    struct csp_cs_etm_cpu cpus[2] = {{.magic = CSP_CS_ETM_MAGIC_ETMV4, .cpu = 0, .param_count = 7},
                                     {.magic = CSP_CS_ETM_MAGIC_ETE, .cpu = 1, .param_count = 8}};
    struct csp_cs_etm_info info = {.version = 2, .pmu_type = 10};
    info.cpus.data = cpus;
    info.cpus.len = 2;
    static const struct csp_id_index_event ring = {12, 1, 1, CSP_NO_TID};
    csp_write_auxtrace_info(writer, &info);
    csp_write_id_index(writer, &ring, 1);
    csp_write_hw_id(writer, id, &(struct csp_hw_id_event){.trace_id = 0x12});
    csp_write_aux(writer, id, &(struct csp_aux_event){0, 13, 0});
    csp_write_auxtrace(
        writer, &(struct csp_auxtrace_event){.size = 13, .idx = 1, .cpu = 1, .tid = CSP_NO_TID},
        "bytes of trace");
    csp_write_aux(writer, id, &(struct csp_aux_event){13, 8, CSP_AUX_FORMAT_RAW});
    csp_write_time_conv(writer, &(struct csp_time_conv_event){.time_shift = 3});
}

static void write_samples(struct csp_writer *writer)
{
    static const struct csp_writer_id id = {.attr = 1, .pid = 100, .tid = 100, .time = 9, .id = 21};
    static const uint64_t chain[] = {CSP_CONTEXT_USER, 1, 2, 3}, registers[] = {1, 2};
    static const struct csp_writer_branch branches[] = {{1, 2, 3}, {4, 5, 6}};
    for (uint32_t i = 0; i < 3; i++)
        csp_write_sample(writer, &id,
                         &(struct csp_writer_sample){.callchain = chain,
                                                     .callchain_len = 4 - i,
                                                     .branches = branches,
                                                     .branch_len = i,
                                                     .regs_user = i ? registers : NULL,
                                                     .aux = "0123456789abcdef",
                                                     .aux_size = 8 * i});
}

static void read_whole(const char *path, struct csp_buf *out)
{
    struct csp_file file;
    if (csp_file_map(&file, path, NULL) == 0) {
        csp_buf_add(out, file.data, file.size);
        csp_file_unmap(&file);
    }
}

/* A complete file, everything in it. */
static void make_file(struct csp_buf *out)
{
    static const struct csp_writer_id id = {
        .attr = 0, .pid = 100, .tid = 100, .cpu = 1, .time = 7, .id = 12};
    static const char *const command[] = {"csprof", "collect", NULL};
    static const struct csp_build_id build_id = {20, {1}};
    char path[] = "/tmp/csprof-test.XXXXXX";
    struct csp_writer *writer;
    close(mkstemp(path));
    if (csp_writer_open(&writer, path, attrs, 2, NULL) == 0) {
        csp_writer_info(writer, &(struct csp_writer_info){
                                    .hostname = "host", .command = command, .cpus_available = 2});
        csp_writer_build_id(writer, CSP_MISC_CPUMODE_USER, 100, &build_id, "/bin/app");
        write_tasks(writer, &id);
        write_trace(writer, &id);
        write_samples(writer);
        csp_write_finished_round(writer);
        csp_writer_close(writer, NULL);
    }
    read_whole(path, out);
    unlink(path);
}

enum { DATA_OFFSET = 40, DATA_SIZE = 48 };

/* The same records as a pipe. */
static void make_pipe(const struct csp_buf *file, struct csp_buf *out)
{
    static const uint64_t header[] = {0x32454c4946524550, 16};
    csp_buf_add(out, header, sizeof header);
    for (unsigned i = 0; i < 2; i++) {
        csp_buf_add_u32(out, CSP_RECORD_HEADER_ATTR);
        csp_buf_add_u16(out, 0);
        csp_buf_add_u16(out, (uint16_t)(8 + 128 + 8 * attrs[i].id_count));
        csp_attr_encode(&attrs[i], 128, out);
        csp_buf_add(out, attrs[i].ids, 8 * attrs[i].id_count);
    }
    csp_buf_add(out, file->data + csp_load64(file->data + DATA_OFFSET),
                csp_load64(file->data + DATA_SIZE));
}

/* The same records compressed. */
static void make_compressed(const struct csp_buf *file, struct csp_buf *out)
{
    size_t offset = csp_load64(file->data + DATA_OFFSET);
    size_t size = csp_load64(file->data + DATA_SIZE);
    char packed[8192];
    size_t packed_size = ZSTD_compress(packed, sizeof packed, file->data + offset, size, 1);
    csp_buf_add(out, file->data, offset);
    for (size_t at = 0; !ZSTD_isError(packed_size) && at < packed_size; at += 100) {
        size_t here = packed_size - at < 100 ? packed_size - at : 100;
        csp_buf_add_u32(out, CSP_RECORD_COMPRESSED);
        csp_buf_add_u16(out, 0);
        csp_buf_add_u16(out, (uint16_t)(8 + here));
        csp_buf_add(out, packed + at, here);
    }
    uint64_t none = 0;
    memcpy(out->data + DATA_SIZE, &none, 8);
}

static uint64_t state = 88172645463325252;

static uint64_t next_random(void) /* xorshift64 */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void change(uint8_t *data, size_t *size)
{
    static const uint64_t values[] = {
        0,      1,          7,          8,          0x7f,           0xff,
        0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX, UINT64_MAX / 8, UINT64_C(1) << 63,
        1 << 20};
    size_t at = next_random() % *size;
    size_t width = (size_t)1 << next_random() % 4;
    uint64_t value = values[next_random() % (sizeof values / sizeof *values)];
    switch (next_random() % 6) {
    case 0:
        data[at] ^= (uint8_t)(1 << next_random() % 8);
        break;
    case 1:
        data[at] = (uint8_t)next_random();
        break;
    case 2: /* an extreme value in an aligned field */
    case 3:
        at -= at % width;
        memcpy(data + at, &value, at + width <= *size ? width : 0);
        break;
    case 4: { /* one place copied over another */
        size_t from = next_random() % *size, count = next_random() % 64;
        if (from + count <= *size && at + count <= *size)
            memmove(data + at, data + from, count);
        break;
    }
    default:
        if (next_random() % 4 == 0)
            *size = at + 1;
        break;
    }
}

static void run(const struct csp_buf *seed, unsigned rounds)
{
    LLVMFuzzerTestOneInput((const uint8_t *)seed->data, seed->len);
    for (unsigned i = 0; i < rounds; i++) {
        uint8_t *copy = csp_malloc(seed->len);
        size_t size = seed->len;
        memcpy(copy, seed->data, size);
        for (unsigned changes = 1 + (unsigned)(next_random() % 6); changes; changes--)
            change(copy, &size);
        uint8_t *exact = csp_malloc(size); /* reads beyond the end are seen */
        memcpy(exact, copy, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
        free(copy);
    }
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5000;
    struct csp_buf seeds[3] = {0};
    make_file(&seeds[0]);
    if (!seeds[0].len) {
        fprintf(stderr, "cannot write a recording\n");
        return 1;
    }
    make_pipe(&seeds[0], &seeds[1]);
    make_compressed(&seeds[0], &seeds[2]);
    for (unsigned i = 0; i < 3; i++) {
        run(&seeds[i], rounds);
        printf("seed %u: %zu bytes, %u changed copies read\n", i, seeds[i].len, rounds);
        csp_buf_free(&seeds[i]);
    }
    return 0;
}
