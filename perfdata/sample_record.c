#include "perfdata/sample_record.h"

#include "base/alloc.h"

/* Takes `count` elements of `size` bytes; null, and an overrun, when there are fewer. */
static const uint8_t *take_array(struct csp_cursor *at, uint64_t count, size_t size)
{
    if (count > csp_cursor_left(at) / size) {
        at->overrun = true;
        return NULL;
    }
    return csp_cursor_take(at, (size_t)count * size);
}

enum { HEAD_BYTES = 9 * 8 /* at most */ };

static uint64_t take_word(const uint8_t **at)
{
    uint64_t word = csp_load64(*at);
    *at += 8;
    return word;
}

static void take_read(const struct csp_attr *attr, struct csp_cursor *at,
                      struct csp_sample_record *sample)
{
    uint64_t format = attr->read_format;
    unsigned times = !!(format & CSP_READ_TIME_ENABLED) + !!(format & CSP_READ_TIME_RUNNING);
    unsigned each = 1 + !!(format & CSP_READ_ID) + !!(format & CSP_READ_LOST);
    const uint8_t *begin = at->at;
    if (format & CSP_READ_GROUP) {
        uint64_t count = csp_cursor_u64(at);
        take_array(at, times, 8);
        take_array(at, count, 8 * each);
    } else {
        take_array(at, times + each, 8);
    }
    sample->read = begin;
    sample->read_size = (size_t)(at->at - begin);
}

static void take_branches(const struct csp_attr *attr, struct csp_cursor *at,
                          struct csp_sample_record *sample)
{
    sample->branch_len = csp_cursor_u64(at);
    if (attr->branch_sample_type & CSP_BRANCH_SAMPLE_HW_INDEX)
        sample->branch_hw_index = csp_cursor_u64(at);
    sample->branches = take_array(at, sample->branch_len, 24);
    if (attr->branch_sample_type & CSP_BRANCH_SAMPLE_COUNTERS)
        sample->branch_counters = take_array(at, sample->branch_len, 8);
}

static const uint8_t *take_registers(struct csp_cursor *at, uint64_t mask, uint64_t *abi)
{
    *abi = csp_cursor_u64(at);
    if (!*abi)
        return NULL;
    return take_array(at, csp_bits_set((uint32_t)mask) + csp_bits_set((uint32_t)(mask >> 32)), 8);
}

static void take_stack(struct csp_cursor *at, struct csp_sample_record *sample)
{
    sample->stack_user_size = csp_cursor_u64(at);
    if (!sample->stack_user_size)
        return;
    sample->stack_user = take_array(at, sample->stack_user_size, 1);
    sample->stack_user_dynamic_size = csp_cursor_u64(at);
    if (sample->stack_user_dynamic_size > sample->stack_user_size)
        sample->stack_user_dynamic_size = sample->stack_user_size;
}

/* The fields of fixed size, `at` the first of them. Returns where they end. */
static const uint8_t *take_head(uint64_t type, const uint8_t *at, struct csp_sample_record *sample)
{
    if (type & CSP_SAMPLE_IDENTIFIER)
        sample->id = take_word(&at);
    if (type & CSP_SAMPLE_IP)
        sample->ip = take_word(&at);
    if (type & CSP_SAMPLE_TID) {
        uint64_t both = take_word(&at);
        sample->pid = (uint32_t)both;
        sample->tid = (uint32_t)(both >> 32);
    }
    if (type & CSP_SAMPLE_TIME)
        sample->time = take_word(&at);
    if (type & CSP_SAMPLE_ADDR)
        sample->addr = take_word(&at);
    if (type & CSP_SAMPLE_ID)
        sample->id = take_word(&at);
    if (type & CSP_SAMPLE_STREAM_ID)
        sample->stream_id = take_word(&at);
    if (type & CSP_SAMPLE_CPU)
        sample->cpu = (uint32_t)take_word(&at);
    if (type & CSP_SAMPLE_PERIOD)
        sample->period = take_word(&at);
    return at;
}

/* Of a sample that is cut short, what is not there is 0. */
static void take_short_head(uint64_t type, struct csp_cursor *at, struct csp_sample_record *sample)
{
    uint8_t whole[HEAD_BYTES] = {0};
    memcpy(whole, at->at, csp_cursor_left(at) / 8 * 8);
    size_t size = (size_t)(take_head(type, whole, sample) - whole);
    csp_cursor_take(at, size);
}

enum {
    BEHIND_CALLCHAIN =
        CSP_SAMPLE_RAW | CSP_SAMPLE_BRANCH_STACK | CSP_SAMPLE_REGS_USER | CSP_SAMPLE_STACK_USER,
};

static void take_arrays(const struct csp_attr *attr, struct csp_cursor *at,
                        struct csp_sample_record *sample)
{
    uint64_t type = attr->sample_type;
    if (type & CSP_SAMPLE_READ)
        take_read(attr, at, sample);
    if (type & CSP_SAMPLE_CALLCHAIN) {
        sample->callchain_len = csp_cursor_u64(at);
        sample->callchain = take_array(at, sample->callchain_len, 8);
    }
    if (!(type & BEHIND_CALLCHAIN))
        return;
    if (type & CSP_SAMPLE_RAW) {
        sample->raw_size = csp_cursor_u32(at);
        sample->raw = take_array(at, sample->raw_size, 1);
    }
    if (type & CSP_SAMPLE_BRANCH_STACK)
        take_branches(attr, at, sample);
    if (type & CSP_SAMPLE_REGS_USER)
        sample->regs_user = take_registers(at, attr->sample_regs_user, &sample->regs_user_abi);
    if (type & CSP_SAMPLE_STACK_USER)
        take_stack(at, sample);
}

enum {
    BEHIND_STACK = CSP_SAMPLE_WEIGHT | CSP_SAMPLE_WEIGHT_STRUCT | CSP_SAMPLE_DATA_SRC |
                   CSP_SAMPLE_TRANSACTION | CSP_SAMPLE_REGS_INTR | CSP_SAMPLE_PHYS_ADDR |
                   CSP_SAMPLE_CGROUP | CSP_SAMPLE_DATA_PAGE_SIZE | CSP_SAMPLE_CODE_PAGE_SIZE |
                   CSP_SAMPLE_AUX,
};

static void take_tail(const struct csp_attr *attr, struct csp_cursor *at,
                      struct csp_sample_record *sample)
{
    uint64_t type = attr->sample_type;
    if (type & (CSP_SAMPLE_WEIGHT | CSP_SAMPLE_WEIGHT_STRUCT))
        sample->weight = csp_cursor_u64(at);
    if (type & CSP_SAMPLE_DATA_SRC)
        sample->data_source = csp_cursor_u64(at);
    if (type & CSP_SAMPLE_TRANSACTION)
        sample->transaction = csp_cursor_u64(at);
    if (type & CSP_SAMPLE_REGS_INTR)
        sample->regs_intr = take_registers(at, attr->sample_regs_intr, &sample->regs_intr_abi);
    if (type & CSP_SAMPLE_PHYS_ADDR)
        sample->physical_address = csp_cursor_u64(at);
    if (type & CSP_SAMPLE_CGROUP)
        sample->cgroup = csp_cursor_u64(at);
    if (type & CSP_SAMPLE_DATA_PAGE_SIZE)
        sample->data_page_size = csp_cursor_u64(at);
    if (type & CSP_SAMPLE_CODE_PAGE_SIZE)
        sample->code_page_size = csp_cursor_u64(at);
    if (type & CSP_SAMPLE_AUX) {
        sample->aux_size = csp_cursor_u64(at);
        sample->aux = take_array(at, sample->aux_size, 1);
    }
}

bool csp_sample_parse(const struct csp_attr *attr, const struct csp_record *record,
                      struct csp_sample_record *sample)
{
    csp_clear(sample, sizeof *sample);
    sample->sample_type = attr->sample_type;
    sample->pid = sample->tid = sample->cpu = CSP_NO_TID;
    sample->branch_hw_index = UINT64_MAX;
    if (record->type != CSP_RECORD_SAMPLE)
        return false;
    struct csp_cursor at = csp_cursor(record->body, record->body_size);
    if (record->body_size >= HEAD_BYTES)
        at.at = take_head(attr->sample_type, at.at, sample);
    else
        take_short_head(attr->sample_type, &at, sample);
    take_arrays(attr, &at, sample);
    if (attr->sample_type & BEHIND_STACK)
        take_tail(attr, &at, sample);
    if (!(attr->sample_type & CSP_SAMPLE_PERIOD))
        sample->period = csp_attr_has(attr, CSP_ATTR_FREQ) ? 1 : attr->sample_period;
    return !at.overrun;
}

enum {
    HEAD_FIELDS = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME |
                  CSP_SAMPLE_ADDR | CSP_SAMPLE_ID | CSP_SAMPLE_STREAM_ID | CSP_SAMPLE_CPU |
                  CSP_SAMPLE_PERIOD,
    FIELDS_OF_PLACE = HEAD_FIELDS | CSP_SAMPLE_CALLCHAIN | CSP_SAMPLE_REGS_USER,
};

struct csp_sample_shape csp_sample_shape_of(const struct csp_attr *attr)
{
    uint64_t type = attr->sample_type, registers = attr->sample_regs_user;
    bool has_more = type & ~(uint64_t)FIELDS_OF_PLACE;
    return (struct csp_sample_shape){
        .is_simple = type & CSP_SAMPLE_IP && !has_more,
        .has_callchain = type & CSP_SAMPLE_CALLCHAIN,
        .has_registers = type & CSP_SAMPLE_REGS_USER,
        .ip = type & CSP_SAMPLE_IDENTIFIER ? 8 : 0,
        .head = (uint8_t)(8 * csp_bits_set((uint32_t)type & HEAD_FIELDS)),
        .registers = (uint16_t)(8 * __builtin_popcountll(registers)),
    };
}

static __attribute__((noinline)) bool parse_place(const struct csp_attr *attr,
                                                  const struct csp_record *record,
                                                  struct csp_sample_place *place)
{
    struct csp_sample_record sample;
    bool is_sound = csp_sample_parse(attr, record, &sample);
    *place = (struct csp_sample_place){sample.ip, sample.callchain, sample.callchain_len};
    return is_sound;
}

/* Whether registers fit into the `left` bytes from `at` on. */
static inline bool have_registers(const uint8_t *at, uint64_t left, uint64_t registers)
{
    return left >= 8 && (!csp_load64(at) || left - 8 >= registers); /* there are none: no ABI */
}

bool csp_sample_find_place(const struct csp_attr *attr, const struct csp_sample_shape *shape,
                           const struct csp_record *record, struct csp_sample_place *place)
{
    const uint8_t *at = record->body + shape->head;
    uint64_t left = record->body_size - shape->head, frames = 0;
    if (!shape->is_simple || record->body_size < shape->head + (shape->has_callchain ? 8u : 0u))
        return parse_place(attr, record, place);
    *place = (struct csp_sample_place){.ip = csp_load64(record->body + shape->ip)};
    if (shape->has_callchain) {
        frames = csp_load64(at);
        at += 8;
        left -= 8;
        if (frames > left / 8)
            return parse_place(attr, record, place);
        place->callchain = at;
        place->callchain_len = frames;
    }
    if (shape->has_registers &&
        !have_registers(at + 8 * frames, left - 8 * frames, shape->registers))
        return parse_place(attr, record, place);
    return true;
}

bool csp_sample_user_register(const struct csp_attr *attr, const struct csp_sample_record *sample,
                              unsigned number, uint64_t *value)
{
    uint64_t mask = attr->sample_regs_user;
    if (!sample->regs_user || number > 63 || !(mask >> number & 1))
        return false;
    uint64_t below = mask & ((UINT64_C(1) << number) - 1);
    *value = csp_load64(sample->regs_user + 8 * (size_t)__builtin_popcountll(below));
    return true;
}
