/* Whose record it is, and the sample id fields that it carries. */
#include "perfdata/identify.h"

#include "perfdata/reader_private.h"

#include <string.h>

enum {
    ID_FIELDS = CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_ID | CSP_SAMPLE_STREAM_ID |
                CSP_SAMPLE_CPU | CSP_SAMPLE_IDENTIFIER,
};

static unsigned bits_of(uint64_t value, uint64_t mask)
{
    return (unsigned)__builtin_popcountll(value & mask);
}

struct csp_event_id_place csp_event_id_place_of(uint64_t type)
{
    if (type & CSP_SAMPLE_IDENTIFIER)
        return (struct csp_event_id_place){true, 0, 8};
    unsigned before =
        bits_of(type, CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_ADDR);
    unsigned behind = bits_of(type, CSP_SAMPLE_CPU | CSP_SAMPLE_STREAM_ID);
    return (struct csp_event_id_place){type & CSP_SAMPLE_ID, (uint8_t)(8 * before),
                                       (uint8_t)(8 + 8 * behind)};
}

/* The place of a field, in words of 8 bytes and from 1 on, if it is there; `words` counts them. */
static uint8_t place_of(uint64_t type, uint64_t field, uint8_t *words)
{
    return type & field ? ++*words : 0;
}

/* The fields at the start of a sample: linux/perf_event.h, PERF_RECORD_SAMPLE. */
static struct csp_id_layout layout_of_samples(uint64_t type)
{
    struct csp_id_layout layout = {.ids = (uint32_t)type & ID_FIELDS};
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
    struct csp_id_layout layout = {.ids = (uint32_t)type & ID_FIELDS};
    layout.tid = place_of(type, CSP_SAMPLE_TID, &layout.words);
    layout.time = place_of(type, CSP_SAMPLE_TIME, &layout.words);
    layout.id = place_of(type, CSP_SAMPLE_ID, &layout.words);
    layout.stream_id = place_of(type, CSP_SAMPLE_STREAM_ID, &layout.words);
    layout.cpu = place_of(type, CSP_SAMPLE_CPU, &layout.words);
    uint8_t id = place_of(type, CSP_SAMPLE_IDENTIFIER, &layout.words);
    layout.id = id ? id : layout.id;
    return layout;
}

struct csp_id_layouts csp_id_layouts_of(const struct csp_attr *attr)
{
    struct csp_id_layouts layouts = {.samples = layout_of_samples(attr->sample_type)};
    if (csp_attr_has(attr, CSP_ATTR_SAMPLE_ID_ALL))
        layouts.others = layout_of_others(attr->sample_type);
    return layouts;
}

void csp_identifier_learn(struct csp_identifier *identifier, const struct csp_record *id_index)
{
    struct csp_id_index_event entry;
    for (size_t i = 0; csp_record_id_index(id_index, i, &entry); i++) {
        if (entry.cpu != CSP_NO_TID)
            *csp_map_at(&identifier->cpu_of_id, entry.id) = (uint64_t)entry.cpu + 1;
    }
    memset(identifier->events, 0, sizeof identifier->events);
}

static __attribute__((noinline)) void meet_event(struct csp_identifier *identifier,
                                                 struct csp_known_event *event, uint64_t id)
{
    const uint64_t *cpu = csp_map_find(&identifier->cpu_of_id, id);
    int attr = csp_perfdata_attr_of_id(identifier->reader, id);
    *event = (struct csp_known_event){.id = id,
                                      .attr = attr < 0 ? 0 : (uint32_t)attr,
                                      .cpu = cpu ? (uint32_t)(*cpu - 1) : CSP_NO_TID,
                                      .is_described = attr >= 0,
                                      .is_filled = true};
}

static inline const struct csp_known_event *event_of(struct csp_identifier *identifier, uint64_t id)
{
    struct csp_known_event *event = &identifier->events[id % CSP_KNOWN_EVENTS];
    if (!event->is_filled || event->id != id)
        meet_event(identifier, event, id);
    return event;
}

/* Places are from 1 on. */
static inline const uint8_t *word(const uint8_t *at, uint8_t place)
{
    return at + 8 * (place - 1);
}

static inline void take_ids(struct csp_record *record, const struct csp_id_layout *layout,
                            const uint8_t *at)
{
    if (layout->tid) {
        record->pid = csp_load32(word(at, layout->tid));
        record->tid = csp_load32(word(at, layout->tid) + 4);
    }
    if (layout->time)
        record->time = csp_load64(word(at, layout->time));
    if (layout->id)
        record->id = csp_load64(word(at, layout->id));
    if (layout->stream_id)
        record->stream_id = csp_load64(word(at, layout->stream_id));
    if (layout->cpu)
        record->cpu = csp_load32(word(at, layout->cpu));
}

/* What a sample that is cut short lacks is 0; other records then have none of it. */
static __attribute__((noinline)) void take_ids_of_short(struct csp_record *record,
                                                        const struct csp_id_layout *layout)
{
    uint8_t whole[8 * CSP_ID_WORDS] = {0};
    if (record->type != CSP_RECORD_SAMPLE)
        return;
    record->ids = layout->ids;
    memcpy(whole, record->body, record->body_size / 8 * 8);
    take_ids(record, layout, whole);
}

bool csp_identify(struct csp_identifier *identifier, struct csp_record *record)
{
    const struct csp_perfdata *reader = identifier->reader;
    const struct csp_event_id_place *place = &reader->event_id;
    bool is_known = true, is_sample = record->type == CSP_RECORD_SAMPLE;
    size_t needed = is_sample ? place->in_samples + (size_t)8 : place->from_end;
    if (record->type >= CSP_RECORD_USER)
        return true;
    if (place->is_there && reader->attrs.len > 1 && record->body_size >= needed) {
        size_t from = is_sample ? place->in_samples : record->body_size - needed;
        uint64_t id = csp_load64(record->body + from);
        const struct csp_known_event *event = event_of(identifier, id);
        record->attr = event->attr;
        is_known = event->is_described || !id;
    }
    const struct csp_id_layouts *layouts = &reader->layouts.data[record->attr];
    const struct csp_id_layout *layout = is_sample ? &layouts->samples : &layouts->others;
    size_t size = 8 * (size_t)layout->words;
    if (record->body_size < size) {
        take_ids_of_short(record, layout);
    } else {
        record->ids = layout->ids;
        record->body_size -= is_sample ? 0 : size;
        take_ids(record, layout, record->body + (is_sample ? 0 : record->body_size));
    }
    if (record->cpu == CSP_NO_TID && record->id)
        record->cpu = event_of(identifier, record->id)->cpu;
    return is_known;
}

void csp_identifier_free(struct csp_identifier *identifier)
{
    csp_map_free(&identifier->cpu_of_id);
}
