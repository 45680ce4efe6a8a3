/* SPE packets and records: bytes beside what they mean, 100,000 made at random, and damaged ones.
 */
#include "unit.h"

#include "base/buf.h"
#include "validate/interval.h"
#include "validate/spe_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct expected {
    const char *what;
    uint8_t bytes[12];
    size_t size;
    struct csp_spe_packet packet;
};

/* One of each header that the Arm ARM's chapter lists, in the order of its encodings. */
static const struct expected packets[] = {
    {"padding", {0x00}, 1, {CSP_SPE_PADDING, 0, 0, 0, 1}},
    {"end", {0x01}, 1, {CSP_SPE_END, 0, 0, 0, 1}},
    {"events, 8 bits: retired, level 1 access", {0x42, 0x06}, 2, {CSP_SPE_EVENTS, 0, 1, 0x06, 2}},
    {"events, 16 bits: … and last level miss",
     {0x52, 0x06, 0x03},
     3,
     {CSP_SPE_EVENTS, 0, 2, 0x306, 3}},
    {"events, 32 bits", {0x62, 1, 2, 3, 4}, 5, {CSP_SPE_EVENTS, 0, 4, 0x04030201, 5}},
    {"events, 64 bits",
     {0x72, 1, 2, 3, 4, 5, 6, 7, 8},
     9,
     {CSP_SPE_EVENTS, 0, 8, 0x0807060504030201, 9}},
    {"data source, 8 bits", {0x43, 0x0d}, 2, {CSP_SPE_DATA_SOURCE, 0, 1, 0x0d, 2}},
    {"data source, 16 bits", {0x53, 0x0d, 0x01}, 3, {CSP_SPE_DATA_SOURCE, 0, 2, 0x010d, 3}},
    {"operation: other", {0x48, 0x00}, 2, {CSP_SPE_OPERATION, 0, 1, 0, 2}},
    {"operation: load", {0x49, 0x00}, 2, {CSP_SPE_OPERATION, 1, 1, 0, 2}},
    {"operation: store", {0x49, 0x01}, 2, {CSP_SPE_OPERATION, 1, 1, 1, 2}},
    {"operation: conditional branch", {0x4a, 0x01}, 2, {CSP_SPE_OPERATION, 2, 1, 1, 2}},
    {"context, EL1", {0x64, 0x39, 0x30, 0, 0}, 5, {CSP_SPE_CONTEXT, 0, 4, 12345, 5}},
    {"context, EL2", {0x65, 0x39, 0x30, 0, 0}, 5, {CSP_SPE_CONTEXT, 1, 4, 12345, 5}},
    {"timestamp",
     {0x71, 1, 0, 0, 0, 0, 0, 0, 0x80},
     9,
     {CSP_SPE_TIMESTAMP, 0, 8, 0x8000000000000001, 9}},
    {"address 0: PC, non-secure EL0",
     {0xb0, 0x10, 0x32, 0x54, 0, 0, 0, 0, 0x80},
     9,
     {CSP_SPE_ADDRESS, 0, 8, 0x8000000000543210, 9}},
    {"address 2: data",
     {0xb2, 0x10, 0x32, 0x54, 0, 0, 0, 0, 0},
     9,
     {CSP_SPE_ADDRESS, 2, 8, 0x543210, 9}},
    {"counter 0: total latency", {0x98, 0x2c, 0x01}, 3, {CSP_SPE_COUNTER, 0, 2, 300, 3}},
    {"counter 2: translation latency", {0x9a, 0x05, 0x00}, 3, {CSP_SPE_COUNTER, 2, 2, 5, 3}},
    {"address 11, extended",
     {0x21, 0xb3, 8, 7, 6, 5, 4, 3, 2, 1},
     10,
     {CSP_SPE_ADDRESS, 11, 8, 0x0102030405060708, 10}},
    {"counter 31, extended", {0x23, 0x9f, 0x34, 0x12}, 4, {CSP_SPE_COUNTER, 31, 2, 0x1234, 4}},
    {"alignment to 8, from the start",
     {0x22, 0, 9, 9, 9, 9, 9, 9},
     8,
     {CSP_SPE_ALIGNMENT, 0, 0, 0, 8}},
};

static void each_packet_as_the_manual_has_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof packets / sizeof *packets; i++) {
        const struct expected *one = &packets[i];
        struct csp_spe_packet packet;
        if (csp_spe_packet_read(one->bytes, one->size, 0, &packet) != CSP_SPE_PACKET ||
            packet.kind != one->packet.kind || packet.index != one->packet.index ||
            packet.payload_size != one->packet.payload_size ||
            packet.payload != one->packet.payload || packet.size != one->packet.size)
            fail_msg("%s: kind %d index %u payload %llx size %zu", one->what, packet.kind,
                     packet.index, (unsigned long long)packet.payload, packet.size);
        for (size_t size = 0; size < one->size; size++)
            if (csp_spe_packet_read(one->bytes, size, 0, &packet) != CSP_SPE_SHORT)
                fail_msg("%s: %zu bytes of it are enough", one->what, size);
    }
}

static void headers_that_are_none(void **state)
{
    static const uint8_t bad[][2] = {{0x02, 0}, {0x44, 0},    {0x80, 0},   {0xb8, 0},
                                     {0xff, 0}, {0x20, 0x42}, {0x24, 0xb0}};
    struct csp_spe_packet packet;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(csp_spe_packet_read(bad[i], 2, 0, &packet), CSP_SPE_BAD);
}

static void alignment_counts_from_the_buffer(void **state)
{
    static const uint8_t bytes[32] = {0x22, 0};
    struct csp_spe_packet packet;
    (void)state;
    assert_int_equal(csp_spe_packet_read(bytes, 32, 3, &packet), CSP_SPE_PACKET);
    assert_int_equal(packet.size, 5); /* 3 … 8 */
    assert_int_equal(csp_spe_packet_read(bytes, 32, 7, &packet), CSP_SPE_PACKET);
    assert_int_equal(packet.size, 9); /* 7 … 16, for 8 is within the header */
}

/* A load that missed, as an N1 writes it. */
static void a_record(void **state)
{
    static const uint8_t bytes[] = {
        0xb0, 0x24, 0x07, 0x40, 0,    0,    0,    0, 0x80, /* PC 0x400724, EL0 */
        0x65, 0x77, 0x05, 0,    0,                         /* context 1399 */
        0x49, 0x00,                                        /* load */
        0x52, 0x1e, 0x03, /* retired, L1 access and refill, TLB, LLC miss */
        0x99, 0x04, 0x00, /* issue latency 4 */
        0x98, 0x4e, 0x01, /* total latency 334 */
        0xb2, 0xc0, 0xff, 0xff, 0xf7, 0xff, 0xff, 0, 0xb4, /* data, its tag included */
        0x9a, 0x02, 0x00,                                  /* translation 2 */
        0x43, 0x0d,                                        /* from DRAM */
        0x71, 0xef, 0xcd, 0xab, 0,    0,    0,    0, 0,    /* timestamp */
        0x00, 0x00,
    };
    struct csp_spe_reader reader = {.data = bytes, .size = sizeof bytes};
    struct csp_spe_record record;
    (void)state;
    assert_true(csp_spe_next(&reader, &record));
    assert_int_equal(record.addresses[CSP_SPE_PC], 0x400724);
    assert_int_equal(record.el, 0);
    assert_int_equal(record.addresses[CSP_SPE_DATA_VIRTUAL], 0xb400fffff7ffffc0);
    assert_int_equal(record.addresses_known, 1 << CSP_SPE_PC | 1 << CSP_SPE_DATA_VIRTUAL);
    assert_int_equal(record.context, 1399);
    assert_int_equal(record.operation, CSP_SPE_LOAD);
    assert_true(record.events >> CSP_SPE_LLC_MISS & 1);
    assert_false(record.events >> CSP_SPE_REMOTE & 1);
    assert_int_equal(record.counters[CSP_SPE_TOTAL_LATENCY], 334);
    assert_int_equal(record.counters[CSP_SPE_ISSUE_LATENCY], 4);
    assert_int_equal(record.counters[CSP_SPE_TRANSLATION_LATENCY], 2);
    assert_int_equal(record.data_source, 0x0d);
    assert_int_equal(record.timestamp, 0xabcdef);
    assert_false(csp_spe_next(&reader, &record));
    assert_int_equal(reader.stats.records, 1);
    assert_int_equal(reader.stats.padding, 2);
    assert_int_equal(reader.stats.record_bytes, sizeof bytes - 2);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void put(struct csp_buf *out, uint8_t header, uint64_t payload, unsigned size)
{
    csp_buf_add_u8(out, header);
    for (unsigned i = 0; i < size; i++)
        csp_buf_add_u8(out, (uint8_t)(payload >> (8 * i)));
}

/* Writes a record with what chance gives it, and tells what it is. */
static struct csp_spe_record make_record(struct csp_buf *out, uint64_t *state)
{
    static const uint8_t operations[][3] = {{0x48, 0, CSP_SPE_OTHER},
                                            {0x49, 0, CSP_SPE_LOAD},
                                            {0x49, 1, CSP_SPE_STORE},
                                            {0x4a, 3, CSP_SPE_BRANCH}};
    struct csp_spe_record made = {.operation = CSP_SPE_UNTOLD};
    uint64_t dice = next_random(state);
    for (int i = 0; i < CSP_SPE_ADDRESSES; i++, dice >>= 1) {
        if (i && !(dice & 1))
            continue;
        uint64_t address = next_random(state) >> 9; /* bit 55 clear */
        uint64_t top = i == CSP_SPE_PC ? next_random(state) & 0xe0 : 0;
        put(out, (uint8_t)(0xb0 | i), address | top << 56, 8);
        made.addresses[i] = address;
        made.addresses_known |= (uint8_t)(1U << i);
        made.el = i == CSP_SPE_PC ? (uint8_t)(top >> 5 & 3) : made.el;
    }
    for (int i = 0; i < CSP_SPE_COUNTERS; i++, dice >>= 1) {
        if (!(dice & 1))
            continue;
        made.counters[i] = (uint16_t)next_random(state);
        made.counters_known |= (uint8_t)(1U << i);
        if (next_random(state) & 1) /* the long form of the same index is as good */
            csp_buf_add_u8(out, 0x20);
        put(out, (uint8_t)(0x98 | i), made.counters[i], 2);
    }
    if (dice & 1) {
        unsigned size = dice >> 1 & 3;
        made.events = next_random(state) & (UINT64_MAX >> (64 - (8U << size)));
        made.has_events = true;
        put(out, (uint8_t)(0x42 | size << 4), made.events, 1U << size);
    }
    if (dice & 8) {
        const uint8_t *operation = operations[dice >> 4 & 3];
        put(out, operation[0], operation[1], 1);
        made.operation = operation[2];
    }
    if (dice & 0x40) {
        made.context = (uint32_t)next_random(state);
        made.has_context = true;
        put(out, 0x64 | (dice >> 7 & 1), made.context, 4);
    }
    if (dice & 0x100) {
        made.data_source = (uint16_t)next_random(state);
        made.has_data_source = true;
        put(out, 0x53, made.data_source, 2);
    }
    if (dice & 0x200) {
        made.timestamp = next_random(state);
        made.has_timestamp = true;
        put(out, 0x71, made.timestamp, 8);
    } else {
        csp_buf_add_u8(out, 0x01);
    }
    if (dice & 0x400)
        csp_buf_add_u8(out, 0x00);
    if ((dice & 0x1800) == 0x1800) { /* to the next 64 bytes, with rubbish between */
        put(out, 0x25, 0, 1);
        while (out->len % 64)
            csp_buf_add_u8(out, (uint8_t)next_random(state));
    }
    return made;
}

static bool records_equal(const struct csp_spe_record *a, const struct csp_spe_record *b)
{
    return !memcmp(a->addresses, b->addresses, sizeof a->addresses) &&
           !memcmp(a->counters, b->counters, sizeof a->counters) && a->events == b->events &&
           a->timestamp == b->timestamp && a->context == b->context &&
           a->data_source == b->data_source && a->operation == b->operation && a->el == b->el &&
           a->addresses_known == b->addresses_known && a->counters_known == b->counters_known &&
           a->has_events == b->has_events && a->has_context == b->has_context &&
           a->has_data_source == b->has_data_source && a->has_timestamp == b->has_timestamp;
}

enum { RECORDS = 100000 };

static void a_hundred_thousand_records(void **state)
{
    struct csp_buf out = {0};
    uint64_t seed = 1;
    struct csp_spe_record *made = calloc(RECORDS, sizeof *made);
    (void)state;
    for (int i = 0; i < RECORDS; i++)
        made[i] = make_record(&out, &seed);
    struct csp_spe_reader reader = {.data = (const uint8_t *)out.data, .size = out.len};
    struct csp_spe_record record;
    for (int i = 0; i < RECORDS; i++)
        if (!csp_spe_next(&reader, &record) || !records_equal(&record, &made[i]))
            fail_msg("record %d, before byte %zu", i, reader.at);
    assert_false(csp_spe_next(&reader, &record));
    assert_int_equal(reader.stats.records, RECORDS);
    assert_int_equal(reader.stats.record_bytes + reader.stats.padding, out.len);
    assert_int_equal(reader.stats.bad_packets + reader.stats.dropped + reader.stats.left, 0);
    csp_buf_free(&out);
    free(made);
}

static void a_damaged_record_is_dropped_alone(void **state)
{
    static const uint8_t bytes[] = {
        0xb0, 1, 0, 0, 0, 0, 0, 0, 0, 0x01,       /* PC 1 */
        0xb0, 2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x01, /* PC 2, and no packet */
        0xb0, 3, 0, 0, 0, 0, 0, 0, 0, 0x01,       /* PC 3 */
        0xb0, 4, 0, 0,                            /* cut off */
    };
    struct csp_spe_reader reader = {.data = bytes, .size = sizeof bytes};
    struct csp_spe_record record;
    (void)state;
    assert_true(csp_spe_next(&reader, &record));
    assert_int_equal(record.addresses[CSP_SPE_PC], 1);
    assert_true(csp_spe_next(&reader, &record));
    assert_int_equal(record.addresses[CSP_SPE_PC], 3);
    assert_false(csp_spe_next(&reader, &record));
    assert_int_equal(reader.stats.records, 2);
    assert_int_equal(reader.stats.bad_packets, 1);
    assert_int_equal(reader.stats.dropped, 11);
    assert_int_equal(reader.stats.left, 4);
}

/* Whatever the bytes are, reading them ends and all of them are accounted for. */
static void damaged_bytes_are_all_accounted_for(void **state)
{
    uint64_t seed = 2;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct csp_buf out = {0};
        for (int i = 0; i < 20; i++)
            make_record(&out, &seed);
        for (int i = 0; i < 8; i++)
            out.data[next_random(&seed) % out.len] = (char)next_random(&seed);
        size_t size = next_random(&seed) % (out.len + 1);
        uint8_t *exact = malloc(size ? size : 1); /* a sanitizer sees any byte too far */
        memcpy(exact, out.data, size);
        struct csp_spe_reader reader = {
            .data = exact, .size = size, .position = next_random(&seed) % 4096};
        struct csp_spe_record record;
        while (csp_spe_next(&reader, &record))
            ;
        const struct csp_spe_stats *stats = &reader.stats;
        assert_int_equal(stats->record_bytes + stats->padding + stats->dropped + stats->left, size);
        free(exact);
        csp_buf_free(&out);
    }
}

/* From Wilson's formula, worked out by hand with z = 1.96: 8 of 10 is 0.490 … 0.943. */
static void wilson_intervals(void **state)
{
    struct csp_rate some = csp_rate_of(8, 10), none = csp_rate_of(0, 10), all = csp_rate_of(10, 10);
    (void)state;
    assert_true(fabs(some.low - 0.4902) < 1e-4 && fabs(some.high - 0.9433) < 1e-4);
    assert_true(none.low == 0 && fabs(none.high - 0.2775) < 1e-4);
    assert_true(fabs(all.low - 0.7225) < 1e-4 && all.high == 1);
    assert_true(csp_rate_of(0, 0).high == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_packet_as_the_manual_has_it),
        cmocka_unit_test(headers_that_are_none),
        cmocka_unit_test(alignment_counts_from_the_buffer),
        cmocka_unit_test(a_record),
        cmocka_unit_test(a_hundred_thousand_records),
        cmocka_unit_test(a_damaged_record_is_dropped_alone),
        cmocka_unit_test(damaged_bytes_are_all_accounted_for),
        cmocka_unit_test(wilson_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
