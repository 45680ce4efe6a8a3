/* Taking single records apart: where one ends, and the sample id fields that it carries. */
#include "perfdata/reader_private.h"

#include <string.h>

enum { RECORD_HEADER = 8 }; /* u32 type, u16 misc, u16 size */

bool csp_record_split(struct csp_record *record, const uint8_t *at, uint64_t left)
{
    *record = (struct csp_record){.pid = CSP_NO_TID, .tid = CSP_NO_TID, .cpu = CSP_NO_TID};
    if (left < RECORD_HEADER)
        return false;
    record->type = csp_load32(at);
    record->misc = csp_load16(at + 4);
    record->size = csp_load16(at + 6);
    if (record->size < RECORD_HEADER || record->size > left)
        return false;
    record->body = at + RECORD_HEADER;
    record->body_size = record->size - (size_t)RECORD_HEADER;
    if (record->type == CSP_RECORD_AUXTRACE) {
        struct csp_auxtrace_event event;
        if (!csp_record_auxtrace(record, &event))
            return false;
        record->payload_size = event.size;
    } else if (record->type == CSP_RECORD_HEADER_TRACING_DATA) {
        if (record->body_size < 4)
            return false;
        record->payload_size = csp_load32(record->body);
    }
    record->payload = at + record->size;
    return record->payload_size <= left - record->size;
}

static unsigned bits_of(uint64_t value, uint64_t mask)
{
    return (unsigned)__builtin_popcountll(value & mask);
}

/* Whose record this is: with several events, the id that all of them carry at the same place. */
static bool find_attr(const struct csp_perfdata *reader, struct csp_record *record)
{
    if (reader->attrs.len == 1)
        return true;
    uint64_t type = reader->attrs.data[0].sample_type;
    size_t at;
    if (record->type == CSP_RECORD_SAMPLE) {
        if (type & CSP_SAMPLE_IDENTIFIER)
            at = 0;
        else if (type & CSP_SAMPLE_ID)
            at = 8 * (size_t)bits_of(type, CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME |
                                               CSP_SAMPLE_ADDR);
        else
            return true;
    } else {
        size_t from_end;
        if (type & CSP_SAMPLE_IDENTIFIER)
            from_end = 8;
        else if (type & CSP_SAMPLE_ID)
            from_end = 8 + 8 * (size_t)bits_of(type, CSP_SAMPLE_CPU | CSP_SAMPLE_STREAM_ID);
        else
            return true;
        if (record->body_size < from_end)
            return true;
        at = record->body_size - from_end;
    }
    if (record->body_size < at + 8)
        return true;
    uint64_t id = csp_load64(record->body + at);
    int number = csp_perfdata_attr_of_id(reader, id);
    record->attr = number < 0 ? 0 : (uint32_t)number;
    return number >= 0 || !id;
}

/* The place of a field, in words of 8 bytes and from 1 on, if it is there; `words` counts them. */
static uint8_t place_of(uint64_t type, uint64_t field, uint8_t *words)
{
    return type & field ? ++*words : 0;
}

/* The fields at the start of a sample: linux/perf_event.h, PERF_RECORD_SAMPLE. */
static struct csp_id_layout layout_of_samples(uint64_t type)
{
    struct csp_id_layout layout = {0};
    layout.id = place_of(type, CSP_SAMPLE_IDENTIFIER, &layout.words);
    place_of(type, CSP_SAMPLE_IP, &layout.words);
    layout.tid = place_of(type, CSP_SAMPLE_TID, &layout.words);
    layout.time = place_of(type, CSP_SAMPLE_TIME, &layout.words);
    place_of(type, CSP_SAMPLE_ADDR, &layout.words);
    uint8_t id = place_of(type, CSP_SAMPLE_ID, &layout.words);
    layout.id = id ? id : layout.id;
    layout.stream_id = place_of(type, CSP_SAMPLE_STREAM_ID, &layout.words);
    layout.cpu = place_of(type, CSP_SAMPLE_CPU, &layout.words);
    return layout;
}

/* struct sample_id at the end of all other records of the kernel. */
static struct csp_id_layout layout_of_others(uint64_t type)
{
    struct csp_id_layout layout = {0};
    layout.tid = place_of(type, CSP_SAMPLE_TID, &layout.words);
    layout.time = place_of(type, CSP_SAMPLE_TIME, &layout.words);
    layout.id = place_of(type, CSP_SAMPLE_ID, &layout.words);
    layout.stream_id = place_of(type, CSP_SAMPLE_STREAM_ID, &layout.words);
    layout.cpu = place_of(type, CSP_SAMPLE_CPU, &layout.words);
    uint8_t id = place_of(type, CSP_SAMPLE_IDENTIFIER, &layout.words);
    layout.id = id ? id : layout.id;
    return layout;
}

struct csp_id_layouts csp_id_layouts_of(uint64_t sample_type)
{
    return (struct csp_id_layouts){layout_of_samples(sample_type), layout_of_others(sample_type)};
}

static void take_ids(struct csp_record *record, const struct csp_id_layout *layout,
                     const uint8_t *at)
{
    at -= 8; /* places are from 1 on */
    if (layout->tid) {
        record->pid = csp_load32(at + 8 * layout->tid);
        record->tid = csp_load32(at + 8 * layout->tid + 4);
    }
    if (layout->time)
        record->time = csp_load64(at + 8 * layout->time);
    if (layout->id)
        record->id = csp_load64(at + 8 * layout->id);
    if (layout->stream_id)
        record->stream_id = csp_load64(at + 8 * layout->stream_id);
    if (layout->cpu)
        record->cpu = csp_load32(at + 8 * layout->cpu);
}

static void identify_sample(struct csp_record *record, const struct csp_id_layout *layout)
{
    uint8_t whole[8 * CSP_ID_WORDS] = {0}; /* what a sample that is cut short lacks is 0 */
    if (record->body_size >= 8 * (size_t)layout->words) {
        take_ids(record, layout, record->body);
        return;
    }
    memcpy(whole, record->body, record->body_size / 8 * 8);
    take_ids(record, layout, whole);
}

static void identify_other(struct csp_record *record, const struct csp_id_layout *layout)
{
    size_t size = 8 * (size_t)layout->words;
    if (record->body_size < size) {
        record->ids = 0;
        return;
    }
    record->body_size -= size;
    take_ids(record, layout, record->body + record->body_size);
}

bool csp_record_identify(const struct csp_perfdata *reader, struct csp_record *record)
{
    if (record->type >= CSP_RECORD_USER)
        return true;
    bool known = find_attr(reader, record);
    const struct csp_attr *attr = &reader->attrs.data[record->attr];
    const struct csp_id_layouts *layouts = &reader->layouts.data[record->attr];
    if (record->type != CSP_RECORD_SAMPLE && !csp_attr_has(attr, CSP_ATTR_SAMPLE_ID_ALL))
        return known;
    record->ids = (uint32_t)attr->sample_type &
                  (CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_ID | CSP_SAMPLE_STREAM_ID |
                   CSP_SAMPLE_CPU | CSP_SAMPLE_IDENTIFIER);
    if (record->type == CSP_RECORD_SAMPLE)
        identify_sample(record, &layouts->samples);
    else
        identify_other(record, &layouts->others);
    return known;
}
