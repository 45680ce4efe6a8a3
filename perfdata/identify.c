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

/* The place of a field, which is behind those that `size` has counted, if it is there. */
static uint8_t place_of(uint64_t type, uint64_t field, uint8_t *size)
{
    uint8_t place = *size;
    *size += type & field ? 8 : 0;
    return place;
}

/* The fields at the start of a sample: linux/perf_event.h, PERF_RECORD_SAMPLE. */
static struct csp_id_layout layout_of_samples(uint64_t type)
{
    struct csp_id_layout layout = {.ids = (uint32_t)type & ID_FIELDS};
    uint8_t identifier = place_of(type, CSP_SAMPLE_IDENTIFIER, &layout.size);
    place_of(type, CSP_SAMPLE_IP, &layout.size);
    layout.tid = place_of(type, CSP_SAMPLE_TID, &layout.size);
    layout.time = place_of(type, CSP_SAMPLE_TIME, &layout.size);
    place_of(type, CSP_SAMPLE_ADDR, &layout.size);
    uint8_t id = place_of(type, CSP_SAMPLE_ID, &layout.size);
    layout.id = type & CSP_SAMPLE_ID ? id : identifier;
    layout.stream_id = place_of(type, CSP_SAMPLE_STREAM_ID, &layout.size);
    layout.cpu = place_of(type, CSP_SAMPLE_CPU, &layout.size);
    return layout;
}

/* struct sample_id at the end of all other records of the kernel. */
static struct csp_id_layout layout_of_others(uint64_t type)
{
    struct csp_id_layout layout = {.ids = (uint32_t)type & ID_FIELDS};
    layout.tid = place_of(type, CSP_SAMPLE_TID, &layout.size);
    layout.time = place_of(type, CSP_SAMPLE_TIME, &layout.size);
    uint8_t id = place_of(type, CSP_SAMPLE_ID, &layout.size);
    layout.stream_id = place_of(type, CSP_SAMPLE_STREAM_ID, &layout.size);
    layout.cpu = place_of(type, CSP_SAMPLE_CPU, &layout.size);
    uint8_t identifier = place_of(type, CSP_SAMPLE_IDENTIFIER, &layout.size);
    layout.id = type & CSP_SAMPLE_IDENTIFIER ? identifier : id;
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

static struct csp_known_event *place_of_event(struct csp_identifier *identifier, uint64_t id)
{
    return &identifier->events[id % CSP_KNOWN_EVENTS];
}

static uint32_t cpu_of(const struct csp_identifier *identifier, uint64_t id)
{
    const uint64_t *cpu = id ? csp_map_find(&identifier->cpu_of_id, id) : NULL;
    return cpu ? (uint32_t)(*cpu - 1) : CSP_NO_TID;
}

static void meet_event(struct csp_identifier *identifier, uint64_t id)
{
    const struct csp_perfdata *reader = identifier->reader;
    /* Of one attribute all records are, whatever id they tell; and those of the first that tell
     * none, whatever a file lists as id 0. */
    int found = reader->attrs.len > 1 && id ? csp_perfdata_attr_of_id(reader, id) : 0;
    uint32_t attr = found < 0 ? 0 : (uint32_t)found;
    *place_of_event(identifier, id) =
        (struct csp_known_event){.id = id,
                                 .layouts = &reader->layouts.data[attr],
                                 .attr = attr,
                                 .cpu = cpu_of(identifier, id),
                                 .is_described = found >= 0,
                                 .is_filled = true};
}

/* Whose record it is; 0: nothing tells. */
static inline uint64_t id_of(const struct csp_perfdata *reader, const struct csp_record *record)
{
    const struct csp_event_id_place *place = &reader->event_id;
    size_t size = record->body_size, from = place->in_samples;
    if (record->type != CSP_RECORD_SAMPLE)
        from = size - place->from_end;
    /* Of a record that is too short it is beyond the end, be it by wrapping around. */
    bool is_there = place->is_there && size >= 8 && from <= size - 8;
    return is_there ? csp_load64(record->body + from) : 0;
}

static inline void take_ids(struct csp_record *record, const struct csp_id_layout *layout,
                            const uint8_t *at)
{
    uint32_t ids = record->ids = layout->ids;
    if (ids & CSP_SAMPLE_TID) {
        record->pid = csp_load32(at + layout->tid);
        record->tid = csp_load32(at + layout->tid + 4);
    }
    if (ids & CSP_SAMPLE_TIME)
        record->time = csp_load64(at + layout->time);
    if (ids & (CSP_SAMPLE_ID | CSP_SAMPLE_IDENTIFIER))
        record->id = csp_load64(at + layout->id);
    if (ids & CSP_SAMPLE_STREAM_ID)
        record->stream_id = csp_load64(at + layout->stream_id);
    if (ids & CSP_SAMPLE_CPU)
        record->cpu = csp_load32(at + layout->cpu);
}

/* What a sample that is cut short lacks is 0; other records then have none of it. */
static __attribute__((noinline)) void take_ids_of_short(struct csp_record *record,
                                                        const struct csp_id_layout *layout)
{
    uint8_t whole[CSP_ID_BYTES] = {0};
    if (record->type != CSP_RECORD_SAMPLE)
        return;
    memcpy(whole, record->body, record->body_size / 8 * 8);
    take_ids(record, layout, whole);
}

/* Apart, so that all the others, which are of events that are known, need no frame. */
static __attribute__((noinline)) bool identify_first(struct csp_identifier *identifier,
                                                     struct csp_record *record, uint64_t id)
{
    meet_event(identifier, id);
    return csp_identify(identifier, record);
}

/* The same, of records that are cut short or tell two ids. */
static __attribute__((noinline)) void complete(struct csp_identifier *identifier,
                                               struct csp_record *record,
                                               const struct csp_id_layout *missing)
{
    if (missing)
        take_ids_of_short(record, missing);
    if (record->cpu == CSP_NO_TID)
        record->cpu = cpu_of(identifier, record->id);
}

bool csp_identify(struct csp_identifier *identifier, struct csp_record *record)
{
    bool is_sample = record->type == CSP_RECORD_SAMPLE;
    if (record->type >= CSP_RECORD_USER)
        return true;
    uint64_t id = id_of(identifier->reader, record);
    const struct csp_known_event *event = place_of_event(identifier, id);
    if (!event->is_filled || event->id != id)
        return identify_first(identifier, record, id);
    const struct csp_id_layout *layout =
        is_sample ? &event->layouts->samples : &event->layouts->others;
    record->attr = event->attr;
    bool is_known = event->is_described || !id;
    if (record->body_size < layout->size) {
        complete(identifier, record, layout);
        return is_known;
    }
    record->body_size -= is_sample ? 0 : layout->size;
    take_ids(record, layout, record->body + (is_sample ? 0 : record->body_size));
    if (record->cpu == CSP_NO_TID && record->id == id)
        record->cpu = event->cpu;
    else if (record->cpu == CSP_NO_TID)
        complete(identifier, record, NULL);
    return is_known;
}

void csp_identifier_free(struct csp_identifier *identifier)
{
    csp_map_free(&identifier->cpu_of_id);
}
