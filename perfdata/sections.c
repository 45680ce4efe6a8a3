#include "perfdata/sections.h"

#include "perfdata/records_private.h"

#include <pthread.h>

enum {
    SECTION_BYTES = 1 << 20,
    DONE_BYTES = 1 << 23, /* given back at once: all processors with threads of ours are told */
    TOLD_BYTES = 1 << 22, /* of records, at most, that are taken for a section unseen */
    EXPECTED = 1 << 18,   /* mapped ahead: others hop while it is made */
};

struct csp_sections {
    const struct csp_perfdata *reader;
    pthread_mutex_t lock; /* of what follows */
    CSP_VEC(struct csp_section) found;
    CSP_VEC(const uint8_t *) id_indexes;
    uint64_t at;          /* where nobody has been yet */
    uint64_t expected_to; /* csp_file_expect */
    uint64_t done_to;     /* csp_file_done; not locked: one thread at a time comes to it */
    bool is_at_end, is_compressed, was_told_late;
    bool is_alone;
    bool trusts_index;                 /* struct csp_perfdata.auxtrace_index */
    bool was_misled;                   /* by it; set by any thread */
    size_t indexed;                    /* so many of its entries are of no more use */
    const struct csp_records *unfound; /* of the section that begins at `at` */
};

struct csp_sections *csp_sections_create(const struct csp_perfdata *reader, bool is_alone)
{
    struct csp_sections *sections = csp_calloc(1, sizeof *sections);
    sections->reader = reader;
    sections->at = sections->done_to = reader->data_offset;
    sections->is_alone = is_alone;
    sections->trusts_index = !is_alone && reader->auxtrace_index_len;
    pthread_mutex_init(&sections->lock, NULL);
    return sections;
}

void csp_sections_destroy(struct csp_sections *sections)
{
    csp_vec_free(&sections->found);
    csp_vec_free(&sections->id_indexes);
    pthread_mutex_destroy(&sections->lock);
    free(sections);
}

size_t csp_sections_most(const struct csp_sections *sections)
{
    return (sections->reader->data_end - sections->reader->data_offset) / SECTION_BYTES + 1;
}

/* The bytes of the record at `at` with its payload, of which `left` are there; 0 where it is cut
 * short or malformed. */
static uint64_t size_of(const uint8_t *at, uint64_t left)
{
    enum { HEADER = 8 };
    struct csp_record record;
    uint32_t type = left < HEADER ? 0 : csp_load32(at);
    if (left < HEADER || csp_record_has_payload(type))
        return csp_record_split(&record, at, left) ? record.size + record.payload_size : 0;
    uint16_t size = csp_load16(at + 6);
    return size < HEADER || size > left ? 0 : size;
}

/* Notes what concerns all sections. */
static void note(struct csp_sections *sections, const uint8_t *record)
{
    uint32_t type = csp_load32(record);
    sections->is_compressed |= type == CSP_RECORD_COMPRESSED || type == CSP_RECORD_COMPRESSED2;
    if (type != CSP_RECORD_ID_INDEX)
        return;
    sections->was_told_late |= sections->found.len != 0;
    csp_vec_push(&sections->id_indexes, record);
}

/* Has what lies ahead mapped, in turns with others that do: not while they wait to hop. */
static void expect(struct csp_sections *sections)
{
    if (sections->trusts_index) /* hardly anybody does */
        return;
    pthread_mutex_lock(&sections->lock);
    uint64_t begin = sections->at > sections->expected_to ? sections->at : sections->expected_to;
    uint64_t end = sections->at + EXPECTED;
    if (begin < end)
        sections->expected_to = end;
    pthread_mutex_unlock(&sections->lock);
    if (begin < end)
        csp_file_expect(sections->reader->file, begin, end - begin);
}

/* Hops over a record. One that is damaged is the last. */
static void hop(struct csp_sections *sections)
{
    const struct csp_perfdata *reader = sections->reader;
    const uint8_t *at = reader->file->data + sections->at;
    uint64_t size = size_of(at, reader->data_end - sections->at);
    if (size)
        note(sections, at);
    sections->at += size;
    if (size > UINT16_MAX && sections->expected_to < sections->at)
        sections->expected_to = sections->at;
    sections->is_at_end = !size || sections->is_compressed;
}

/* Where the next record of trace begins behind `at`, as the index has it; UINT64_MAX: nowhere. */
static uint64_t indexed_behind(struct csp_sections *sections, uint64_t at)
{
    const struct csp_perfdata *reader = sections->reader;
    for (; sections->indexed < reader->auxtrace_index_len; sections->indexed++) {
        uint64_t next = csp_load64(reader->auxtrace_index + 16 * sections->indexed);
        if (next > at && next < reader->data_end)
            return next;
    }
    return UINT64_MAX;
}

/* Where the section at hand ends if the index is right, of which nothing but records of trace is
 * looked at: whether it is comes out when the section is read. 0 when it tells nothing near. */
static uint64_t end_by_index(struct csp_sections *sections)
{
    const struct csp_perfdata *reader = sections->reader;
    uint64_t at = sections->at;
    if (!sections->trusts_index || !sections->found.len) /* what concerns others comes first */
        return 0;
    while (at - sections->at < SECTION_BYTES) {
        uint64_t size = size_of(reader->file->data + at, reader->data_end - at);
        uint64_t next = indexed_behind(sections, at + (size ? size - 1 : 0));
        if (!size || next - at - size > TOLD_BYTES)
            return 0;
        at = next;
    }
    return at;
}

/* Finds the end of the next section. What is damaged belongs to the last one. */
static void find_next(struct csp_sections *sections)
{
    const uint8_t *ahead = NULL;
    struct csp_section section = {.begin = sections->at};
    uint64_t told = end_by_index(sections);
    section.is_told = told;
    sections->at = told ? told : sections->at;
    while (sections->at - section.begin < SECTION_BYTES && !sections->is_at_end) {
        csp_records_fetch(&ahead, sections->reader->file->data + sections->at);
        hop(sections);
    }
    section.end = section.limit = sections->is_at_end ? sections->reader->data_end : sections->at;
    csp_vec_push(&sections->found, section);
}

static struct csp_records *open_section(const struct csp_sections *sections,
                                        const struct csp_section *section, struct csp_diag *diag)
{
    /* Whoever is misled is told when it is read once more. */
    return csp_records_open_section(sections->reader, section, sections->id_indexes.data,
                                    sections->id_indexes.len, sections->trusts_index ? NULL : diag);
}

/* Whether the next one is found by reading it. */
static bool is_found_by_reading(const struct csp_sections *sections, size_t number)
{
    return sections->is_alone && number && number == sections->found.len && !sections->is_at_end;
}

static struct csp_records *open_unfound(struct csp_sections *sections, struct csp_diag *diag)
{
    uint64_t at = sections->at, end = sections->reader->data_end;
    struct csp_section section = {.begin = at, .end = end};
    section.limit = end - at < SECTION_BYTES ? end : at + SECTION_BYTES;
    struct csp_records *records = open_section(sections, &section, diag);
    sections->unfound = records;
    return records;
}

/* Where a section ends that was read. What concerns others, or how the file ends, is looked for
 * once more. */
static void end_unfound(struct csp_sections *sections, const struct csp_records *records)
{
    struct csp_section section = {.begin = sections->at};
    sections->unfound = NULL;
    if (csp_records_concern_others(records)) {
        find_next(sections);
        return;
    }
    sections->at = section.end = section.limit = csp_records_at(records);
    sections->is_at_end = sections->at == sections->reader->data_end;
    csp_vec_push(&sections->found, section);
}

struct csp_records *csp_sections_open(struct csp_sections *sections, size_t number,
                                      struct csp_diag *diag)
{
    struct csp_records *records = NULL;
    if (is_found_by_reading(sections, number))
        return open_unfound(sections, diag);
    expect(sections);
    pthread_mutex_lock(&sections->lock);
    while (sections->found.len <= number && !sections->is_at_end)
        find_next(sections);
    if (number < sections->found.len && !sections->is_compressed)
        records = open_section(sections, &sections->found.data[number], diag);
    pthread_mutex_unlock(&sections->lock);
    return records;
}

void csp_sections_close(struct csp_sections *sections, struct csp_records *records)
{
    if (sections->is_alone && records == sections->unfound)
        end_unfound(sections, records);
    if (sections->trusts_index && !csp_records_are_as_told(records))
        __atomic_store_n(&sections->was_misled, true, __ATOMIC_RELAXED);
    csp_records_close(records);
}

void csp_sections_done(struct csp_sections *sections, size_t count)
{
    uint64_t end = sections->done_to;
    pthread_mutex_lock(&sections->lock);
    if (count <= sections->found.len)
        end = sections->found.data[count - 1].end;
    pthread_mutex_unlock(&sections->lock);
    if (end < sections->done_to) /* they are read once more */
        sections->done_to = sections->reader->data_offset;
    if (end - sections->done_to < DONE_BYTES)
        return;
    csp_file_done(sections->reader->file, sections->done_to, end - sections->done_to);
    sections->done_to = end;
}

bool csp_sections_start_over(struct csp_sections *sections)
{
    if (!sections->was_misled)
        return false;
    sections->trusts_index = sections->was_misled = false;
    sections->is_at_end = sections->is_compressed = sections->was_told_late = false;
    sections->found.len = sections->id_indexes.len = 0;
    sections->expected_to = 0;
    sections->at = sections->reader->data_offset;
    return true;
}

bool csp_sections_are_compressed(const struct csp_sections *sections)
{
    return sections->is_compressed;
}

bool csp_sections_were_told_late(const struct csp_sections *sections)
{
    return sections->was_told_late;
}
