/* The samples of an aggregate: the hot loop of merging. Each goes through two queues, in which
 * others pass while what the set has for it is on its way from memory, which takes longer than
 * reading a sample does: first as a guess, and when that is wrong, decoded. */
#include "profgen/aggregate_reader.h"

#include <string.h>

enum {
    QUEUE = CSP_READER_QUEUE,
    ENTRY_AFTER = 5,
    DATA_AFTER = 10,
    KNOWN_AFTER = 8,
};

/* Numbers have one or two bytes. */
static bool decode_numbers(const struct csp_aggregate_reader *reader,
                           const struct csp_raw_sample *raw, uint32_t *numbers)
{
    const uint32_t *branches = reader->branches.data;
    const size_t known = reader->branches.len;
    const uint8_t *at = raw->numbers, *end = at + raw->size;
    uint32_t i = 0;
    /* Whether it is one byte or two is as good as random: no branch is taken on it. */
    for (; i < raw->branch_len && end - at >= 2; i++) {
        uint32_t pair = csp_load16(at), more = pair >> 7 & 1;
        if ((pair & 0x8080) == 0x8080)
            break;
        uint32_t number = (pair & 0x7f) | (pair >> 1 & 0x3f80 & (0U - more));
        at += 1 + more;
        if (number >= known)
            return false;
        numbers[i] = branches[number];
    }
    struct csp_cursor rest = csp_cursor(at, (size_t)(end - at));
    for (; i < raw->branch_len; i++) {
        uint64_t number = csp_cursor_uleb(&rest);
        if (rest.overrun || number >= known)
            return false;
        numbers[i] = branches[number];
    }
    return true;
}

static void count_decoded(struct csp_aggregate_reader *reader, struct csp_decoded_sample *decoded)
{
    struct csp_sample_set *set = reader->set;
    if (!decoded->sample.len)
        return;
    uint32_t number =
        csp_intern_hashed(&set->samples, decoded->sample.data, decoded->sample.len, decoded->hash);
    csp_sample_set_count_at(set, number, decoded->count);
    if (reader->guessing)
        csp_guesses_learn(&reader->guesses, decoded->key, (const void *)decoded->sample.data,
                          number);
    decoded->sample.len = 0;
}

static const struct csp_decoded_sample *decoded_before(const struct csp_aggregate_reader *reader,
                                                       unsigned steps)
{
    const struct csp_decoded_sample *decoded =
        &reader->decoded[(reader->decoded_in - steps) % QUEUE];
    return decoded->sample.len ? decoded : NULL;
}

static int decode(struct csp_aggregate_reader *reader, const struct csp_raw_sample *raw)
{
    const struct csp_intern *table = &reader->set->samples;
    struct csp_decoded_sample *decoded = &reader->decoded[reader->decoded_in % QUEUE];
    count_decoded(reader, decoded);
    struct csp_flat_sample *sample =
        (void *)csp_buf_reserve(&decoded->sample, csp_flat_room(raw->branch_len));
    *sample = (struct csp_flat_sample){.start = raw->start,
                                       .end = raw->end,
                                       .callers = raw->callers,
                                       .leaf = (uint16_t)raw->leaf,
                                       .branch_len = raw->branch_len};
    reader->numbers.len = 0;
    csp_vec_reserve(&reader->numbers, raw->branch_len);
    if (!decode_numbers(reader, raw, reader->numbers.data))
        return csp_aggregate_malformed(reader, "the number of a branch in one of the samples");
    csp_flat_pack(sample, reader->numbers.data);
    decoded->count = raw->count;
    decoded->key = raw->key;
    decoded->sample.len = csp_flat_size(sample);
    decoded->hash = csp_intern_hash(sample, decoded->sample.len);
    const struct csp_decoded_sample *entry = decoded_before(reader, ENTRY_AFTER);
    const struct csp_decoded_sample *data = decoded_before(reader, DATA_AFTER);
    csp_intern_fetch_slot(table, decoded->hash);
    if (entry)
        csp_intern_fetch_entry(table, entry->hash);
    if (data)
        csp_intern_fetch_data(table, data->hash);
    reader->decoded_in++;
    return 0;
}

static int finish_guess(struct csp_aggregate_reader *reader)
{
    const struct csp_raw_sample *raw = &reader->raw[reader->raw_out++ % QUEUE];
    uint32_t number = csp_guesses_number(&reader->guesses, raw);
    if (number == CSP_INTERN_NONE)
        return decode(reader, raw);
    csp_sample_set_count_at(reader->set, number, raw->count);
    return 0;
}

/* The sample that was read last is guessed, and one before it a step further. */
static int begin_guess(struct csp_aggregate_reader *reader)
{
    struct csp_raw_sample *raw = &reader->raw[reader->raw_in++ % QUEUE];
    size_t waiting = reader->raw_in - reader->raw_out;
    csp_guesses_set_key(raw);
    csp_guesses_fetch(&reader->guesses, raw);
    if (waiting > KNOWN_AFTER)
        csp_guesses_fetch_known(&reader->guesses, reader->set,
                                &reader->raw[(reader->raw_in - KNOWN_AFTER) % QUEUE]);
    return waiting == QUEUE ? finish_guess(reader) : 0;
}

static const uint64_t each_byte = UINT64_C(0x0101010101010101);

/* Of eight bytes, in each byte whether no number ends there: those have the highest bit. */
static uint64_t unfinished(const uint8_t *at)
{
    return csp_load64(at) >> 7 & each_byte;
}

typedef int8_t sixteen __attribute__((vector_size(16)));

/* The same of sixteen bytes: -1 where no number ends. */
static sixteen unfinished_of_sixteen(const uint8_t *at)
{
    sixteen bytes;
    memcpy(&bytes, at, sizeof bytes);
    return bytes < 0;
}

/* How many numbers end in WIDE bytes. */
enum { WIDE = 64 };
static uint32_t ended_in_wide(const uint8_t *at)
{
    sixteen ended = (unfinished_of_sixteen(at) + unfinished_of_sixteen(at + 16)) +
                    (unfinished_of_sixteen(at + 32) + unfinished_of_sixteen(at + 48)) +
                    WIDE / (int)sizeof(sixteen);
    uint64_t halves[2];
    memcpy(halves, &ended, sizeof halves);
    return (uint32_t)((halves[0] + halves[1]) * each_byte >> 56);
}

/* The least byte that is so large, where they ascend. */
static uint32_t first_byte(uint64_t bytes, uint32_t value)
{
    uint64_t zero = bytes ^ value * each_byte;
    return (uint32_t)__builtin_ctzll((zero - each_byte) & ~zero & each_byte << 7) / 8;
}

/* Where so many numbers end; null when that is behind `end`. */
static const uint8_t *skip_numbers(const uint8_t *at, const uint8_t *end, uint32_t count)
{
    for (uint32_t ended; end - at >= WIDE && (ended = ended_in_wide(at)) < count; at += WIDE)
        count -= ended;
    for (; count && end - at >= 8; at += 8) {
        uint64_t ended = (unfinished(at) ^ each_byte) * each_byte; /* up to there */
        if (ended >> 56 >= count)
            return at + first_byte(ended, count) + 1;
        count -= (uint32_t)(ended >> 56);
    }
    for (; count && at < end; at++)
        count -= !(*at & 0x80);
    return count ? NULL : at;
}

static int read_sample(struct csp_aggregate_reader *reader, uint64_t callers)
{
    struct csp_cursor *cursor = &reader->blocks.cursor;
    struct csp_raw_sample *raw = &reader->raw[reader->raw_in % QUEUE];
    raw->leaf = (uint32_t)csp_cursor_small_uleb(cursor);
    raw->start = csp_cursor_uleb(cursor);
    raw->end = csp_cursor_uleb(cursor);
    uint64_t len = csp_cursor_uleb(cursor);
    if (callers >= reader->callers.len)
        return csp_aggregate_malformed(reader, "the number of callers");
    if (raw->leaf > UINT16_MAX)
        return csp_aggregate_malformed(reader, "what a sample's own address tells");
    if (len > csp_cursor_left(cursor))
        return csp_aggregate_malformed(reader, "as many branches");
    if (!len && !(raw->start && raw->end))
        return csp_aggregate_malformed(reader,
                                       "a sample with branches, or with a start and an end");
    raw->callers = reader->callers.data[callers];
    raw->branch_len = (uint32_t)len;
    raw->numbers = cursor->at;
    const uint8_t *end = skip_numbers(cursor->at, cursor->end, raw->branch_len);
    if (!end)
        return csp_aggregate_malformed(reader, "the number of a branch");
    raw->size = (size_t)(end - cursor->at);
    cursor->at = end;
    uint64_t count = csp_cursor_small_uleb(cursor);
    if (cursor->overrun || !count)
        return csp_aggregate_malformed(reader, "a sample and its count");
    raw->count = csp_sample_set_times(reader->set, count, reader->weight);
    return reader->guessing ? begin_guess(reader) : decode(reader, raw);
}

/* Those in the queue lie in the block. */
static int next_item(struct csp_aggregate_reader *reader)
{
    int error = 0;
    if (csp_cursor_left(&reader->blocks.cursor))
        return 0;
    while (!error && reader->raw_out < reader->raw_in)
        error = finish_guess(reader);
    return error ? error : csp_aggregate_next_item(reader, "a sample, or the end of samples");
}

static int read_all(struct csp_aggregate_reader *reader)
{
    uint64_t callers = 0;
    for (;;) {
        int error = next_item(reader);
        if (error)
            return error;
        uint64_t step = csp_cursor_small_uleb(&reader->blocks.cursor);
        if (!step)
            break;
        callers += step - 1;
        error = read_sample(reader, callers);
        if (error)
            return error;
    }
    int error = 0;
    while (!error && reader->raw_out < reader->raw_in)
        error = finish_guess(reader);
    for (unsigned i = 0; i < QUEUE && !error; i++)
        count_decoded(reader, &reader->decoded[(reader->decoded_in + i) % QUEUE]);
    if (!error)
        error = csp_block_next(&reader->blocks, reader->diag);
    return error || reader->blocks.ended ? error : csp_aggregate_malformed(reader, "the end");
}

int csp_aggregate_read_samples(struct csp_aggregate_reader *reader)
{
    reader->raw_in = reader->raw_out = 0;
    for (unsigned i = 0; i < QUEUE; i++)
        reader->decoded[i].sample.len = 0;
    reader->guessing = csp_guesses_begin(&reader->guesses, reader->set, reader->branches.data,
                                         reader->branches.len);
    int error = read_all(reader);
    if (reader->guessing)
        csp_guesses_end(&reader->guesses, reader->branches.data, reader->branches.len);
    return error;
}
