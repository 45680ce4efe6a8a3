/* Where trace is: AUX records joined with the bytes that perf stored; and what the trace units'
 * configurations say. */
#include "unit.h"

#include "perfdata_image.h"

enum { CPU = 1, TID = 101, PER_CPU = 0, PER_THREAD = 1 };

/* Collects records; bodies are kept until the end of a test. */
struct builder {
    struct csp_auxtrace aux;
    struct csp_buf bodies[64];
    size_t count;
    char message[300];
    struct csp_diag diag;
};

static void begin(struct builder *b)
{
    memset(b, 0, sizeof *b);
    b->aux.path = "test.data";
    b->diag.emit = image_message;
    b->diag.user = b->message;
}

static void add(struct builder *b, struct csp_record record)
{
    const struct csp_buf *body = &b->bodies[b->count];
    record.body = (const uint8_t *)body->data;
    record.body_size = body->len;
    record.ordinal = b->count++;
    assert_int_equal(csp_auxtrace_add(&b->aux, &record, &b->diag), 0);
}

/* AUX: u64 offset, size, flags. */
static void announce_of(struct builder *b, uint32_t tid, uint32_t cpu, uint64_t offset,
                        uint64_t size, uint64_t flags)
{
    struct csp_buf *body = &b->bodies[b->count];
    csp_buf_add_u64(body, offset);
    csp_buf_add_u64(body, size);
    csp_buf_add_u64(body, flags);
    add(b, (struct csp_record){.type = CSP_RECORD_AUX,
                               .cpu = cpu,
                               .pid = 100,
                               .tid = tid,
                               .time = 1000 + b->count,
                               .id = 10 + cpu});
}

static void announce(struct builder *b, uint32_t cpu, uint64_t offset, uint64_t size,
                     uint64_t flags)
{
    announce_of(b, TID, cpu, offset, size, flags);
}

/* AUXTRACE: u64 size, offset, reference; u32 idx, tid, cpu, reserved; then the bytes. */
static void store(struct builder *b, uint32_t idx, int how, uint32_t owner, uint64_t offset,
                  const char *bytes)
{
    struct csp_buf *body = &b->bodies[b->count];
    csp_buf_add_u64(body, strlen(bytes));
    csp_buf_add_u64(body, offset);
    csp_buf_add_u64(body, 0);
    csp_buf_add_u32(body, idx);
    csp_buf_add_u32(body, how == PER_THREAD ? owner : CSP_NO_TID);
    csp_buf_add_u32(body, how == PER_CPU ? owner : CSP_NO_TID);
    csp_buf_add_u32(body, 0);
    add(b, (struct csp_record){.type = CSP_RECORD_AUXTRACE,
                               .size = 48,
                               .payload = (const uint8_t *)bytes,
                               .payload_size = strlen(bytes)});
}

/* "idx:text|text " of each fragment, pieces separated by "|", "." for a fragment without any. */
static const char *fragments(struct builder *b)
{
    static char text[512];
    size_t used = 0;
    *text = '\0';
    csp_auxtrace_finish(&b->aux, &b->diag);
    for (size_t i = 0; i < b->aux.fragments.len; i++) {
        const struct csp_aux_fragment *f = &b->aux.fragments.data[i];
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%u:%s",
                             b->aux.queues.data[f->queue].idx, csp_aux_piece_count(f) ? "" : ".");
        for (uint32_t j = 0; j < csp_aux_piece_count(f); j++) {
            const struct csp_aux_piece piece = csp_aux_piece(&b->aux, f, j);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", j ? "|" : "",
                                     (int)piece.size, (const char *)piece.data);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, " ");
    }
    return text;
}

static void end(struct builder *b)
{
    csp_auxtrace_free(&b->aux);
    for (size_t i = 0; i < b->count; i++)
        csp_buf_free(&b->bodies[i]);
}

static void one_chunk_holds_several_windows(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    store(&b, 5, PER_CPU, CPU, 0, "AAAABBBCCCCC");
    announce(&b, CPU, 0, 4, 0);
    announce(&b, CPU, 4, 3, CSP_AUX_TRUNCATED);
    announce(&b, CPU, 7, 5, CSP_AUX_FORMAT_RAW | CSP_AUX_COLLISION);
    assert_string_equal(fragments(&b), "5:AAAA 5:BBB 5:CCCCC ");
    assert_int_equal(b.aux.pieces.len, 0);
    const struct csp_aux_fragment *f = b.aux.fragments.data;
    assert_int_equal(f[1].flags, CSP_AUX_TRUNCATED);
    assert_false(f[1].raw);
    assert_true(f[2].raw);
    assert_int_equal(f[2].time, 1003);
    assert_int_equal(f[2].tid, TID);
    assert_int_equal(f[2].cpu, CPU);
    assert_int_equal(b.aux.queues.data[0].fragment_first, 0);
    assert_int_equal(b.aux.queues.data[0].fragment_count, 3);
    assert_int_equal(b.aux.missing_bytes, 0);
    assert_string_equal(b.message, "");
    end(&b);
}

static void one_window_may_lie_in_several_chunks(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    store(&b, 0, PER_CPU, CPU, 4, "EFGH"); /* in any order in the file */
    store(&b, 0, PER_CPU, CPU, 0, "ABCD");
    store(&b, 0, PER_CPU, CPU, 8, "IJ");
    announce(&b, CPU, 2, 7, 0);
    announce(&b, CPU, 9, 1, 0);
    assert_string_equal(fragments(&b), "0:CD|EFGH|I 0:J ");
    assert_int_equal(b.aux.unannounced_bytes, 2); /* A and B */
    assert_string_equal(b.message, "");           /* a note, no warning */
    end(&b);
}

/* perf fills a chunk up to 8 bytes, but does not count the filling in the next one's offset. */
static void filling_at_the_end_of_a_chunk_is_no_trace(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    store(&b, 0, PER_CPU, CPU, 0, "ABCDE...");
    store(&b, 0, PER_CPU, CPU, 5, "FGHIJ...");
    announce(&b, CPU, 0, 5, 0);
    announce(&b, CPU, 5, 5, 0);
    assert_string_equal(fragments(&b), "0:ABCDE 0:FGHIJ ");
    end(&b);
}

static void each_cpu_has_its_ring(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    announce(&b, 2, 0, 2, 0);
    announce(&b, 1, 0, 2, 0);
    announce(&b, 2, 2, 2, 0);
    store(&b, 0, PER_CPU, 1, 0, "aa");
    store(&b, 1, PER_CPU, 2, 0, "bbcc");
    assert_string_equal(fragments(&b), "0:aa 1:bb 1:cc ");
    end(&b);
}

/* Whatever the order, records count once, and a ring knows whether its own are in that of time. */
static void rings_are_emptied_in_turns(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    for (uint32_t cpu = 3; cpu >= 1; cpu--)
        store(&b, cpu, PER_CPU, cpu, 0, "aabbccddee");
    for (uint64_t turn = 0; turn < 2; turn++) {
        announce(&b, 3, 4 * turn, 2, 0);
        announce(&b, 3, 4 * turn + 2, 2, 0);
        announce(&b, 1, 4 - 4 * turn, 4, 0); /* the later trace first */
        announce(&b, 2, 2 * turn, 4, turn ? CSP_AUX_FORMAT_RAW : 0);
    }
    announce(&b, 3, 8, 4, 0);
    assert_string_equal(fragments(&b), "1:ccdd 1:aabb 2:aabb 2:cc 3:aa 3:bb 3:cc 3:dd 3:ee ");
    const struct csp_aux_queue *queues = b.aux.queues.data;
    const uint32_t firsts[] = {0, 2, 4}, counts[] = {2, 2, 5};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(queues[i].fragment_first, firsts[i]);
        assert_int_equal(queues[i].fragment_count, counts[i]);
        assert_int_equal(queues[i].is_by_time, i != 1);
    }
    assert_int_equal(b.aux.announced_bytes, 28);
    assert_int_equal(b.aux.missing_bytes, 2);
    assert_int_equal(b.aux.repeated_bytes, 2);
    assert_int_equal(b.aux.unannounced_bytes, 2 + 4);
    end(&b);
}

/* A recording of one thread on any CPU: its AUX records name CPUs, its chunks do not. */
static void a_thread_has_one_ring_on_all_cpus(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    announce(&b, 2, 0, 2, 0);
    announce(&b, 3, 2, 2, 0);
    store(&b, 0, PER_THREAD, TID, 0, "aabb");
    store(&b, 1, PER_THREAD, TID + 1, 0, "xxxx");
    assert_string_equal(fragments(&b), "0:aa 0:bb ");
    assert_int_equal(b.aux.unannounced_bytes, 4); /* no AUX record speaks of that thread */
    end(&b);
}

/* Whether in frames or raw, and where windows end, only AUX records tell. */
static void a_ring_whose_aux_records_were_lost_gives_no_trace(void **state)
{
    (void)state;
    for (int others = 0; others < 2; others++) {
        struct builder b;
        begin(&b);
        store(&b, 0, PER_CPU, 1, 0, "aabb");
        store(&b, 1, PER_CPU, 2, 0, "cc");
        add(&b, (struct csp_record){.type = CSP_RECORD_LOST, .cpu = 1, .tid = TID});
        if (others)
            announce(&b, 2, 0, 2, 0);
        assert_string_equal(fragments(&b), others ? "1:cc " : "");
        assert_int_equal(b.aux.unannounced_bytes, others ? 4 : 6);
        assert_int_equal(b.aux.queues.data[0].fragment_count, 0);
        end(&b);
    }
}

static void without_any_aux_records_all_trace_is_used(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    store(&b, 1, PER_CPU, 2, 0, "cc");
    store(&b, 0, PER_CPU, 1, 2, "bb");
    store(&b, 0, PER_CPU, 1, 0, "aa");
    assert_string_equal(fragments(&b), "0:bb 0:aa 1:cc ");
    assert_int_equal(b.aux.unannounced_bytes, 0);
    assert_int_equal(b.aux.queues.data[0].fragment_count, 2);
    assert_int_equal(b.aux.queues.data[1].fragment_first, 2);
    end(&b);
}

/* The record of the other thread, of which nothing is stored, makes a ring of CPU 3 for itself.
 * That the first thread ran there, too, is seen when all records are looked at once more. */
static void a_ring_without_trace_takes_none_from_others(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    store(&b, 0, PER_THREAD, TID, 0, "AAAABBBB");
    announce_of(&b, TID, 3, 0, 4, 0);
    announce_of(&b, TID + 1, 3, 0, 8, 0);
    announce_of(&b, TID, 2, 4, 4, 0);
    assert_string_equal(fragments(&b), "0:AAAA 0:BBBB 3:. ");
    assert_int_equal(b.aux.missing_bytes, 8);
    end(&b);
}

/* The id of the event that wrote the AUX record names the ring exactly, by ID_INDEX. */
static void an_event_id_decides_over_the_cpu(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    struct csp_buf *body = &b.bodies[b.count];
    csp_buf_add_u64(body, 1); /* entries: id, ring, cpu, tid */
    csp_buf_add_u64(body, 10 + CPU);
    csp_buf_add_u64(body, 7);
    csp_buf_add_u64(body, CPU);
    csp_buf_add_u64(body, UINT64_MAX);
    add(&b, (struct csp_record){.type = CSP_RECORD_ID_INDEX});
    store(&b, 3, PER_CPU, CPU, 0, "no");
    store(&b, 7, PER_CPU, CPU, 0, "ok");
    announce(&b, CPU, 0, 2, 0);
    assert_string_equal(fragments(&b), "7:ok ");
    end(&b);
}

static void what_was_announced_but_not_stored_is_named(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    store(&b, 0, PER_CPU, CPU, 0, "ABCD");
    announce(&b, CPU, 0, 4, 0);
    announce(&b, CPU, 4, 100, CSP_AUX_PARTIAL); /* lost */
    announce(&b, 2, 0, 50, 0);                  /* of a CPU without any */
    announce(&b, CPU, 104, 0, 0);               /* an empty window is no loss */
    assert_string_equal(fragments(&b), "0:ABCD 0:. 0:. 2:. ");
    assert_int_equal(b.aux.announced_bytes, 154);
    assert_int_equal(b.aux.stored_bytes, 4);
    assert_int_equal(b.aux.missing_bytes, 150);
    assert_int_equal(b.aux.missing_fragments, 2);
    assert_string_equal(
        b.message, "test.data: AUX records announce 154 bytes of trace and 150 of them are not "
                   "in the file (of 2 records nothing is); they were lost when it was recorded "
                   "or copied");
    end(&b);
}

static void a_gap_between_chunks_is_counted(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    store(&b, 0, PER_CPU, CPU, 0, "AB");
    store(&b, 0, PER_CPU, CPU, 6, "GH");
    announce(&b, CPU, 0, 8, 0);
    assert_string_equal(fragments(&b), "0:AB|GH ");
    assert_int_equal(b.aux.missing_bytes, 4);
    assert_int_equal(b.aux.missing_fragments, 0);
    assert_int_equal(b.aux.pieces.data[1].aux_offset, 6);
    end(&b);
}

/* Snapshot mode: the ring overwrites itself, AUX records tell how far the stream is and how large
 * the ring, and only the last bytes before each snapshot are stored. */
static void a_snapshot_holds_the_end_of_what_was_announced(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    announce(&b, CPU, 0, 1000, CSP_AUX_OVERWRITE);
    store(&b, 0, PER_CPU, CPU, 996, "wxyz");
    announce(&b, CPU, 998, 10, CSP_AUX_OVERWRITE); /* overlaps the first */
    store(&b, 0, PER_CPU, CPU, 1000, "abcdefgh");
    assert_string_equal(fragments(&b), "0:wxyz 0:abcdefgh ");
    assert_int_equal(b.aux.repeated_bytes, 2); /* y and z are delivered once */
    assert_int_equal(b.aux.missing_bytes, 996);
    end(&b);
}

static void malformed_records_are_counted(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    announce(&b, CPU, UINT64_MAX, 2, 0); /* around the end */
    store(&b, 0, PER_CPU, CPU, UINT64_MAX, "AB");
    csp_buf_add_u32(&b.bodies[b.count], 0);
    add(&b, (struct csp_record){.type = CSP_RECORD_AUX}); /* too short */
    csp_buf_add_u64(&b.bodies[b.count], UINT64_C(5) << 60);
    add(&b,
        (struct csp_record){.type = CSP_RECORD_AUX_OUTPUT_HW_ID}); /* of another major version */
    assert_string_equal(fragments(&b), "");
    assert_int_equal(b.aux.malformed, 4);
    assert_string_equal(b.message,
                        "test.data: 4 records about trace are malformed and were not used");
    end(&b);
}

/* ---- AUXTRACE_INFO ---- */

/* u32 type 3 (CoreSight), u32 reserved; version; PMU type and number of CPUs; snapshot; blocks. */
static int parse(struct csp_cs_etm_info *info, const uint64_t *words, size_t count, char *message)
{
    struct csp_buf body = {0};
    struct csp_diag diag = {.emit = image_message, .user = message};
    *message = '\0';
    csp_buf_add_u64(&body, CSP_AUXTRACE_CS_ETM);
    csp_buf_add(&body, words, 8 * count);
    struct csp_record record = {.type = CSP_RECORD_AUXTRACE_INFO,
                                .body = (const uint8_t *)body.data,
                                .body_size = body.len,
                                .offset = 400};
    int error = csp_cs_etm_info_parse(info, &record, "test.data", &diag);
    csp_buf_free(&body);
    return error;
}

#define PMU(cpus) (UINT64_C(10) << 32 | (cpus))
#define ETMV4_REGISTERS 0x8880, 0x12, 0x28000ea1, 0x4100f421, 0x20001088, 0, 0xcc

/* What decides which trace unit it is, and where its trace ID comes from. */
static void trace_units_are_recognised_by_devarch(void **state)
{
    (void)state;
    static const struct {
        uint64_t magic, count, eighth, ninth;
        enum csp_trace_unit unit;
        int64_t ts_source;
    } rows[] = {
        {CSP_CS_ETM_MAGIC_ETMV4, 7, 0, 0, CSP_UNIT_ETMV4, 0},
        /* Linux 5.18 recordings have an eighth parameter that is all ones: no timestamp source. */
        {CSP_CS_ETM_MAGIC_ETMV4, 8, UINT64_MAX, 0, CSP_UNIT_ETMV4, -1},
        {CSP_CS_ETM_MAGIC_ETMV4, 8, 1, 0, CSP_UNIT_ETMV4, 1},
        {CSP_CS_ETM_MAGIC_ETE, 8, 0x47705a13, 0, CSP_UNIT_ETE, 0},
        {CSP_CS_ETM_MAGIC_ETE, 9, 0x47705a13, 3, CSP_UNIT_ETE, 3},
        /* simpleperf describes ETMv4 units in ETE's form. */
        {CSP_CS_ETM_MAGIC_ETE, 8, 0x47724a13, 0, CSP_UNIT_ETMV4, 0},
        {CSP_CS_ETM_MAGIC_ETE, 8, 0x47700a00, 0, CSP_UNIT_UNKNOWN, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[300];
        struct csp_cs_etm_info info;
        const uint64_t words[] = {1,
                                  PMU(1),
                                  0,
                                  rows[i].magic,
                                  4,
                                  rows[i].count,
                                  ETMV4_REGISTERS,
                                  rows[i].eighth,
                                  rows[i].ninth};
        assert_int_equal(parse(&info, words, 6 + rows[i].count, message), 0);
        assert_int_equal(info.cpus.len, 1);
        const struct csp_cs_etm_cpu *cpu = csp_cs_etm_info_cpu(&info, 4);
        assert_int_equal(cpu->unit, rows[i].unit);
        assert_int_equal(cpu->ts_source, rows[i].ts_source);
        assert_int_equal(cpu->trace_id, 0x12);
        assert_int_equal(cpu->params[CSP_ETM_IDR1], 0x4100f421);
        csp_cs_etm_info_free(&info);
    }
}

static void version_0_has_no_parameter_counts(void **state)
{
    (void)state;
    char message[300];
    struct csp_cs_etm_info info;
    static const uint64_t words[] = {0,
                                     PMU(2),
                                     1,
                                     CSP_CS_ETM_MAGIC_ETMV4,
                                     0,
                                     ETMV4_REGISTERS,
                                     CSP_CS_ETM_MAGIC_ETMV3,
                                     1,
                                     0x40,
                                     0x14,
                                     0x8d294024,
                                     0x411cf312};
    assert_int_equal(parse(&info, words, sizeof words / 8, message), 0);
    assert_true(info.snapshot);
    assert_int_equal(info.cpus.len, 2);
    assert_int_equal(info.cpus.data[1].unit, CSP_UNIT_ETMV3);
    assert_int_equal(info.cpus.data[1].trace_id, 0x14);
    csp_cs_etm_info_free(&info);
}

static void parameters_of_the_future_are_passed_over(void **state)
{
    (void)state;
    char message[300];
    struct csp_cs_etm_info info;
    uint64_t words[3 + 3 + 40 + 3 + 7] = {2, PMU(2), 0, CSP_CS_ETM_MAGIC_ETMV4, 0, 40};
    static const uint64_t second[] = {CSP_CS_ETM_MAGIC_ETMV4, 1, 7, ETMV4_REGISTERS};
    memcpy(words + 46, second, sizeof second);
    assert_int_equal(parse(&info, words, sizeof words / 8, message), 0);
    assert_int_equal(info.cpus.data[1].params[CSP_ETM_CONFIGR], 0x8880);
    csp_cs_etm_info_free(&info);
}

static void configurations_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t words[6];
        size_t count;
        int error;
        const char *message;
    } rows[] = {
        {{0},
         2,
         -CSP_ERR_INPUT,
         "test.data: offset 400: AUXTRACE_INFO is no CoreSight configuration, or is too short for "
         "one"},
        {{3, PMU(1), 0},
         3,
         -CSP_ERR_UNSUPPORTED,
         "test.data: offset 400: AUXTRACE_INFO of version 3, expected 0, 1 or 2; the recording is "
         "of a newer perf"},
        {{1, PMU(0xffffffff), 0},
         3,
         -CSP_ERR_INPUT,
         "test.data: offset 400: AUXTRACE_INFO should describe 4294967295 CPUs; that of number 0 "
         "is "
         "cut short or has an unknown magic (0)"},
        {{1, PMU(1), 0, 0x6060606060606060, 0, 0},
         6,
         -CSP_ERR_INPUT,
         "test.data: offset 400: AUXTRACE_INFO should describe 1 CPUs; that of number 0 is cut "
         "short or has an unknown magic (0x6060606060606060)"},
        {{1, PMU(1), 0, CSP_CS_ETM_MAGIC_ETMV4, 0, UINT64_MAX},
         6,
         -CSP_ERR_INPUT,
         "test.data: offset 400: AUXTRACE_INFO should describe 1 CPUs; that of number 0 is cut "
         "short or has an unknown magic (0x4040404040404040)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[300];
        struct csp_cs_etm_info info;
        assert_int_equal(parse(&info, rows[i].words, rows[i].count, message), rows[i].error);
        assert_string_equal(message, rows[i].message);
        assert_int_equal(info.cpus.len, 0);
    }
}

/* Version 2: TRACEIDR holds "unknown" (bit 31 set); HW_ID records of each CPU bring the trace ID
 * and, from minor version 1 on, the sink. They may come before or after AUXTRACE_INFO. */
static void hw_id_records_bring_trace_ids(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    csp_buf_add_u64(&b.bodies[b.count], 0x13);
    add(&b, (struct csp_record){.type = CSP_RECORD_AUX_OUTPUT_HW_ID, .cpu = 0});
    static const uint64_t words[] = {CSP_AUXTRACE_CS_ETM,
                                     2,
                                     PMU(2),
                                     0,
                                     CSP_CS_ETM_MAGIC_ETMV4,
                                     0,
                                     7,
                                     0x8880,
                                     0x80000000,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     CSP_CS_ETM_MAGIC_ETE,
                                     1,
                                     8,
                                     0x8880,
                                     0x80000000,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0x5a13};
    csp_buf_add(&b.bodies[b.count], words, sizeof words);
    add(&b, (struct csp_record){.type = CSP_RECORD_AUXTRACE_INFO});
    csp_buf_add_u64(&b.bodies[b.count], UINT64_C(1) << 56 | UINT64_C(0xabc) << 8 | 0x13);
    add(&b, (struct csp_record){.type = CSP_RECORD_AUX_OUTPUT_HW_ID, .cpu = 1});
    csp_buf_add_u64(&b.bodies[b.count], 0x15);
    add(&b, (struct csp_record){.type = CSP_RECORD_AUX_OUTPUT_HW_ID, .cpu = 9});
    assert_int_equal(b.aux.cs_etm.cpus.data[0].trace_id, 0); /* not yet */
    csp_auxtrace_finish(&b.aux, &b.diag);
    assert_int_equal(b.aux.cs_etm.version, 2);
    assert_int_equal(b.aux.cs_etm.cpus.data[0].trace_id, 0x13);
    assert_int_equal(b.aux.cs_etm.cpus.data[0].sink_id, 0);
    assert_int_equal(b.aux.cs_etm.cpus.data[1].trace_id, 0x13); /* the same, on another sink */
    assert_int_equal(b.aux.cs_etm.cpus.data[1].sink_id, 0xabc);
    assert_int_equal(b.aux.hw_id_unknown_cpu, 1);
    end(&b);
}

static void other_kinds_of_trace_are_told_apart(void **state)
{
    (void)state;
    struct builder b;
    begin(&b);
    csp_buf_add_u64(&b.bodies[b.count], CSP_AUXTRACE_ARM_SPE);
    csp_buf_add_u64(&b.bodies[b.count], 8);
    add(&b, (struct csp_record){.type = CSP_RECORD_AUXTRACE_INFO});
    assert_true(b.aux.has_info);
    assert_int_equal(b.aux.type, CSP_AUXTRACE_ARM_SPE);
    assert_int_equal(b.aux.cs_etm.cpus.len, 0);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_chunk_holds_several_windows),
        cmocka_unit_test(one_window_may_lie_in_several_chunks),
        cmocka_unit_test(filling_at_the_end_of_a_chunk_is_no_trace),
        cmocka_unit_test(each_cpu_has_its_ring),
        cmocka_unit_test(rings_are_emptied_in_turns),
        cmocka_unit_test(a_thread_has_one_ring_on_all_cpus),
        cmocka_unit_test(a_ring_whose_aux_records_were_lost_gives_no_trace),
        cmocka_unit_test(without_any_aux_records_all_trace_is_used),
        cmocka_unit_test(a_ring_without_trace_takes_none_from_others),
        cmocka_unit_test(an_event_id_decides_over_the_cpu),
        cmocka_unit_test(what_was_announced_but_not_stored_is_named),
        cmocka_unit_test(a_gap_between_chunks_is_counted),
        cmocka_unit_test(a_snapshot_holds_the_end_of_what_was_announced),
        cmocka_unit_test(malformed_records_are_counted),
        cmocka_unit_test(trace_units_are_recognised_by_devarch),
        cmocka_unit_test(version_0_has_no_parameter_counts),
        cmocka_unit_test(parameters_of_the_future_are_passed_over),
        cmocka_unit_test(configurations_that_make_no_sense_are_refused),
        cmocka_unit_test(hw_id_records_bring_trace_ids),
        cmocka_unit_test(other_kinds_of_trace_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
