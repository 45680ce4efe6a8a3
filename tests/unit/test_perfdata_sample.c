/* PERF_RECORD_SAMPLE, field by field, and the sample id fields of all other records. */
#include "unit.h"

#include "perfdata_image.h"

static const uint64_t every_field = CSP_SAMPLE_KNOWN & ~(uint64_t)CSP_SAMPLE_WEIGHT;

static struct csp_record record_of(const struct csp_buf *body)
{
    return (struct csp_record){
        .type = CSP_RECORD_SAMPLE, .body = (const uint8_t *)body->data, .body_size = body->len};
}

/* All fields at once, in the order of linux/perf_event.h. */
static void add_every_field(struct csp_buf *body)
{
    csp_buf_add_u64(body, 1);      /* IDENTIFIER */
    csp_buf_add_u64(body, 0x4000); /* IP */
    csp_buf_add_u32(body, 100);    /* TID: pid */
    csp_buf_add_u32(body, 101);
    csp_buf_add_u64(body, 12345);  /* TIME */
    csp_buf_add_u64(body, 0xadd4); /* ADDR */
    csp_buf_add_u64(body, 1);      /* ID: the same as the identifier */
    csp_buf_add_u64(body, 7);      /* STREAM_ID */
    csp_buf_add_u32(body, 3);      /* CPU */
    csp_buf_add_u32(body, 0xffff); /* reserved */
    csp_buf_add_u64(body, 1000);   /* PERIOD */
    csp_buf_add_u64(body, 2);      /* READ with GROUP: number of events, */
    csp_buf_add_u64(body, 50);     /* time enabled, */
    csp_buf_add_u64(body, 40);     /* time running, */
    for (uint64_t i = 1; i <= 2; i++) {
        csp_buf_add_u64(body, 11 * i); /* each event's value, */
        csp_buf_add_u64(body, i);      /* id, */
        csp_buf_add_u64(body, 0);      /* lost */
    }
    csp_buf_add_u64(body, 3); /* CALLCHAIN */
    csp_buf_add_u64(body, CSP_CONTEXT_USER);
    csp_buf_add_u64(body, 0x4000);
    csp_buf_add_u64(body, 0x5000);
    csp_buf_add_u32(body, 12); /* RAW: what follows makes 8-byte alignment whole */
    csp_buf_add(body, "raw contents", 12);
    csp_buf_add_u64(body, 2); /* BRANCH_STACK: number, hardware index, entries, counters */
    csp_buf_add_u64(body, 31);
    for (uint64_t i = 0; i < 2; i++) {
        csp_buf_add_u64(body, 0x4100 + i);
        csp_buf_add_u64(body, 0x4200 + i);
        csp_buf_add_u64(body, CSP_BRANCH_FLAG_MISPRED);
    }
    csp_buf_add_u64(body, 0xc0);
    csp_buf_add_u64(body, 0xc1);
    csp_buf_add_u64(body, 2); /* REGS_USER: ABI, registers 29 and 30 */
    csp_buf_add_u64(body, 0x2929);
    csp_buf_add_u64(body, 0x3030);
    csp_buf_add_u64(body, 16); /* STACK_USER: size, bytes, how many of them are valid */
    csp_buf_add(body, "stack of 16 byte", 16);
    csp_buf_add_u64(body, 8);
    csp_buf_add_u64(body, 0x3e); /* WEIGHT_STRUCT */
    csp_buf_add_u64(body, 0xd5); /* DATA_SRC */
    csp_buf_add_u64(body, 0x7a); /* TRANSACTION */
    csp_buf_add_u64(body, 1);    /* REGS_INTR: ABI, register 0 */
    csp_buf_add_u64(body, 0x1717);
    csp_buf_add_u64(body, 0xffa0); /* PHYS_ADDR */
    csp_buf_add_u64(body, 0xc6);   /* CGROUP */
    csp_buf_add_u64(body, 4096);   /* DATA_PAGE_SIZE */
    csp_buf_add_u64(body, 65536);  /* CODE_PAGE_SIZE */
    csp_buf_add_u64(body, 8);      /* AUX */
    csp_buf_add(body, "auxtrace", 8);
}

static const struct csp_attr full = {
    .sample_type = CSP_SAMPLE_KNOWN & ~(uint64_t)CSP_SAMPLE_WEIGHT,
    .read_format = CSP_READ_TIME_ENABLED | CSP_READ_TIME_RUNNING | CSP_READ_ID | CSP_READ_GROUP |
                   CSP_READ_LOST,
    .branch_sample_type = CSP_BRANCH_SAMPLE_HW_INDEX | CSP_BRANCH_SAMPLE_COUNTERS,
    .sample_regs_user = UINT64_C(3) << 29,
    .sample_regs_intr = 1,
};

static void every_field_is_found(void **state)
{
    (void)state;
    struct csp_buf body = {0};
    struct csp_sample_record s;
    uint64_t value;
    add_every_field(&body);
    struct csp_record record = record_of(&body);
    assert_true(csp_sample_parse(&full, &record, &s));
    assert_int_equal(s.sample_type, every_field);
    assert_int_equal(s.id, 1);
    assert_int_equal(s.ip, 0x4000);
    assert_int_equal(s.pid, 100);
    assert_int_equal(s.tid, 101);
    assert_int_equal(s.time, 12345);
    assert_int_equal(s.addr, 0xadd4);
    assert_int_equal(s.stream_id, 7);
    assert_int_equal(s.cpu, 3);
    assert_int_equal(s.period, 1000);
    assert_int_equal(s.read_size, 8 * 9);
    assert_int_equal(csp_load64(s.read + 8 * 6), 22);
    assert_int_equal(s.callchain_len, 3);
    assert_int_equal(csp_sample_frame(&s, 0), CSP_CONTEXT_USER);
    assert_int_equal(csp_sample_frame(&s, 2), 0x5000);
    assert_int_equal(s.raw_size, 12);
    assert_memory_equal(s.raw, "raw contents", 12);
    assert_int_equal(s.branch_len, 2);
    assert_int_equal(s.branch_hw_index, 31);
    assert_int_equal(csp_sample_branch(&s, 1).from, 0x4101);
    assert_int_equal(csp_sample_branch(&s, 1).to, 0x4201);
    assert_int_equal(csp_sample_branch(&s, 1).flags, CSP_BRANCH_FLAG_MISPRED);
    assert_int_equal(csp_load64(s.branch_counters + 8), 0xc1);
    assert_true(csp_sample_user_register(&full, &s, 30, &value));
    assert_int_equal(value, 0x3030);
    assert_false(csp_sample_user_register(&full, &s, 31, &value));
    assert_int_equal(s.stack_user_size, 16);
    assert_int_equal(s.stack_user_dynamic_size, 8);
    assert_memory_equal(s.stack_user, "stack of", 8);
    assert_int_equal(s.weight, 0x3e);
    assert_int_equal(s.data_source, 0xd5);
    assert_int_equal(s.transaction, 0x7a);
    assert_int_equal(csp_load64(s.regs_intr), 0x1717);
    assert_int_equal(s.physical_address, 0xffa0);
    assert_int_equal(s.cgroup, 0xc6);
    assert_int_equal(s.data_page_size, 4096);
    assert_int_equal(s.code_page_size, 65536);
    assert_int_equal(s.aux_size, 8);
    assert_memory_equal(s.aux, "auxtrace", 8);
    csp_buf_free(&body);
}

static void a_sample_cut_anywhere_is_malformed(void **state)
{
    (void)state;
    struct csp_buf body = {0};
    add_every_field(&body);
    for (size_t length = 0; length < body.len; length++) {
        /* A copy of exactly that length, so that a sanitizer sees any read beyond it. */
        uint8_t *copy = csp_malloc(length + !length);
        struct csp_sample_record sample;
        memcpy(copy, body.data, length);
        struct csp_record record = {.type = CSP_RECORD_SAMPLE, .body = copy, .body_size = length};
        assert_false(csp_sample_parse(&full, &record, &sample));
        free(copy);
    }
    csp_buf_free(&body);
}

static void absurd_lengths_are_malformed(void **state)
{
    (void)state;
    static const struct {
        uint64_t sample_type;
        uint64_t read_format;
    } rows[] = {
        {CSP_SAMPLE_CALLCHAIN, 0}, {CSP_SAMPLE_BRANCH_STACK, 0}, {CSP_SAMPLE_STACK_USER, 0},
        {CSP_SAMPLE_AUX, 0},       {CSP_SAMPLE_RAW, 0},          {CSP_SAMPLE_READ, CSP_READ_GROUP},
    };
    static const uint64_t lengths[] = {3, UINT64_C(1) << 32, UINT64_C(1) << 61, UINT64_MAX / 24 + 1,
                                       UINT64_MAX};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            struct csp_attr attr = {.sample_type = rows[i].sample_type,
                                    .read_format = rows[i].read_format};
            struct csp_buf body = {0};
            struct csp_sample_record sample;
            csp_buf_add_u64(&body, lengths[j]);
            if (lengths[j] != 3)
                csp_buf_add_u64(&body, 0);
            struct csp_record record = record_of(&body);
            bool fits = rows[i].sample_type == CSP_SAMPLE_RAW && (uint32_t)lengths[j] < 9;
            assert_int_equal(csp_sample_parse(&attr, &record, &sample), fits); /* u32 there */
            csp_buf_free(&body);
        }
    }
}

/* Of each event: value [, time enabled] [, time running] [, id] [, lost]. */
static void read_values_have_the_shape_of_the_read_format(void **state)
{
    (void)state;
    for (uint64_t format = 0; format < 32; format++) {
        struct csp_attr attr = {.sample_type = CSP_SAMPLE_READ | CSP_SAMPLE_CALLCHAIN,
                                .read_format = format};
        unsigned times = (format & 1) + (format >> 1 & 1);
        unsigned each = 1 + (format >> 2 & 1) + (format >> 4 & 1);
        unsigned words = format & CSP_READ_GROUP ? 1 + times + 3 * each : times + each;
        struct csp_buf body = {0};
        struct csp_sample_record sample;
        csp_buf_add_u64(&body, 3); /* with GROUP the number of events, else a value */
        for (unsigned i = 1; i < words; i++)
            csp_buf_add_u64(&body, 0);
        csp_buf_add_u64(&body, 1); /* the callchain that follows */
        csp_buf_add_u64(&body, 0x77);
        struct csp_record record = record_of(&body);
        assert_true(csp_sample_parse(&attr, &record, &sample));
        assert_int_equal(sample.read_size, 8 * words);
        assert_int_equal(csp_sample_frame(&sample, 0), 0x77);
        csp_buf_free(&body);
    }
}

static void a_sample_without_a_period_has_its_events(void **state)
{
    (void)state;
    struct csp_attr attr = {.sample_period = 1050031};
    struct csp_record record = {.type = CSP_RECORD_SAMPLE, .body = (const uint8_t *)""};
    struct csp_sample_record sample;
    assert_true(csp_sample_parse(&attr, &record, &sample));
    assert_int_equal(sample.period, 1050031);
    assert_int_equal(sample.pid, CSP_NO_TID);
    attr.flags = 1 << CSP_ATTR_FREQ; /* then it is a frequency, and the period is not known */
    assert_true(csp_sample_parse(&attr, &record, &sample));
    assert_int_equal(sample.period, 1);
}

static bool same_place(const struct csp_sample_place *place, const struct csp_sample_record *sample)
{
    return place->ip == sample->ip && place->callchain == sample->callchain &&
           place->callchain_len == sample->callchain_len;
}

/* Samples of these fields that end after each byte, and what of them both find. */
static void check_place(uint64_t type, uint64_t frames, uint64_t abi)
{
    const struct csp_attr attr = {.sample_type = type, .sample_regs_user = UINT64_C(3) << 29};
    const struct csp_sample_shape shape = csp_sample_shape_of(&attr);
    struct csp_buf body = {0};
    for (uint64_t field = 1; field <= CSP_SAMPLE_IDENTIFIER; field <<= 1)
        if (type & field & ~(uint64_t)(CSP_SAMPLE_CALLCHAIN | CSP_SAMPLE_REGS_USER))
            csp_buf_add_u64(&body, 0x100 + field);
    if (type & CSP_SAMPLE_CALLCHAIN)
        csp_buf_add_u64(&body, frames);
    for (int i = 0; type & CSP_SAMPLE_CALLCHAIN && i < 3; i++)
        csp_buf_add_u64(&body, 0x4000);
    if (type & CSP_SAMPLE_REGS_USER)
        csp_buf_add_u64(&body, abi);
    for (int i = 0; type & CSP_SAMPLE_REGS_USER && i < 2; i++)
        csp_buf_add_u64(&body, 0x3030);
    for (size_t size = body.len; size + 1 > 0; size--) {
        struct csp_record record = record_of(&body);
        struct csp_sample_record sample;
        struct csp_sample_place place;
        record.body_size = size;
        bool is_sound = csp_sample_parse(&attr, &record, &sample);
        assert_int_equal(csp_sample_find_place(&attr, &shape, &record, &place), is_sound);
        assert_true(same_place(&place, &sample));
    }
    csp_buf_free(&body);
}

static void a_place_is_what_parsing_finds(void **state)
{
    (void)state;
    const uint64_t fields[] = {CSP_SAMPLE_IDENTIFIER, CSP_SAMPLE_IP,        CSP_SAMPLE_ADDR,
                               CSP_SAMPLE_CPU,        CSP_SAMPLE_CALLCHAIN, CSP_SAMPLE_REGS_USER,
                               CSP_SAMPLE_STACK_USER};
    enum { FIELDS = sizeof fields / sizeof *fields };
    for (unsigned set = 0; set < 1u << FIELDS; set++) {
        uint64_t type = CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_PERIOD;
        for (unsigned i = 0; i < FIELDS; i++)
            type |= set >> i & 1 ? fields[i] : 0;
        check_place(type, 3, 2);
        check_place(type, 3, 0);
        check_place(type, UINT64_MAX / 8, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_found),
        cmocka_unit_test(a_sample_cut_anywhere_is_malformed),
        cmocka_unit_test(absurd_lengths_are_malformed),
        cmocka_unit_test(a_place_is_what_parsing_finds),
        cmocka_unit_test(read_values_have_the_shape_of_the_read_format),
        cmocka_unit_test(a_sample_without_a_period_has_its_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
