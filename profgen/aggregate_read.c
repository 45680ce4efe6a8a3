#include "profgen/aggregate_format.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Samples that were read and not counted yet: meanwhile what the set has for them is on its way
 * from memory, which takes longer than reading a sample does. */
enum { PENDING = 12, ENTRY_AFTER = 4, DATA_AFTER = 8 };

struct pending {
    struct csp_buf sample; /* a struct csp_flat_sample; empty: none */
    uint32_t hash;
    uint64_t count;
};

/* What is read is added to a set that may have branches, callers and samples already: the numbers
 * in the file are looked up once, and then translated. */
struct reader {
    struct csp_block_reader blocks;
    struct csp_sample_set *set;
    uint32_t *branches, *callers; /* what the numbers in the file are in the set */
    size_t branch_len, caller_len;
    struct pending pending[PENDING];
    unsigned next; /* of them */
    uint64_t weight;
    struct csp_diag *diag;
};

static int malformed(const struct reader *reader, const char *expected)
{
    const struct csp_block_reader *blocks = &reader->blocks;
    return csp_fail(reader->diag, CSP_ERR_INPUT,
                    "%s: offset %llu: in the block there, %zu bytes before its end: expected %s",
                    blocks->path, (unsigned long long)blocks->start,
                    csp_cursor_left(&blocks->cursor), expected);
}

static int next_item(struct reader *reader, const char *expected)
{
    int error = csp_block_next(&reader->blocks, reader->diag);
    return !error && reader->blocks.ended ? malformed(reader, expected) : error;
}

/* How many there are. No more than the file may have: each takes a bit at least. */
static int read_count(struct reader *reader, size_t *count, const char *expected)
{
    int error = next_item(reader, expected);
    *count = (size_t)csp_cursor_uleb(&reader->blocks.cursor);
    if (!error && (reader->blocks.cursor.overrun || *count > UINT32_MAX - 1))
        error = malformed(reader, expected);
    return error;
}

static void read_stats(struct csp_cursor *cursor, struct csp_sample_set_stats *stats)
{
    stats->samples = csp_cursor_uleb(cursor);
    stats->used = csp_cursor_uleb(cursor);
    cursor->overrun |= csp_cursor_uleb(cursor) != CSP_REJECT_COUNT;
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        stats->rejected[i] = csp_cursor_uleb(cursor);
    stats->truncated_callchains = csp_cursor_uleb(cursor);
    stats->branches = csp_cursor_uleb(cursor);
    stats->impossible_branches = csp_cursor_uleb(cursor);
    stats->external_branches = csp_cursor_uleb(cursor);
}

static int read_identity(struct reader *reader, struct csp_aggregate *head)
{
    static const char expected[] = "a binary and statistics";
    struct csp_cursor *cursor = &reader->blocks.cursor;
    int error = next_item(reader, expected);
    if (error)
        return error;
    size_t size = (size_t)csp_cursor_uleb(cursor);
    const uint8_t *bytes = NULL;
    if (size <= sizeof head->build_id.bytes)
        bytes = csp_cursor_take(cursor, size);
    if (!bytes)
        return malformed(reader, "a build-id of at most 20 bytes");
    memcpy(head->build_id.bytes, bytes, size);
    head->build_id.size = (uint8_t)size;
    head->code = csp_cursor_u64(cursor);
    size = (size_t)csp_cursor_uleb(cursor);
    bytes = csp_cursor_take(cursor, size);
    head->name = bytes ? csp_strndup((const char *)bytes, size) : csp_strdup("");
    head->callchains = csp_cursor_uleb(cursor);
    read_stats(cursor, &head->set.stats);
    return cursor->overrun ? malformed(reader, expected) : 0;
}

static int read_inputs(struct reader *reader, csp_digests *inputs)
{
    static const char expected[] = "digests of inputs, ascending";
    size_t count;
    int error = read_count(reader, &count, "inputs");
    for (size_t i = 0; i < count && !error; i++) {
        struct csp_digest digest = {{0}};
        error = next_item(reader, expected);
        const uint8_t *bytes =
            error ? NULL : csp_cursor_take(&reader->blocks.cursor, sizeof digest.bytes);
        if (bytes)
            memcpy(digest.bytes, bytes, sizeof digest.bytes);
        if (!error && (!bytes || (i && memcmp(inputs->data[i - 1].bytes, bytes, 16) >= 0)))
            error = malformed(reader, expected);
        if (!error)
            csp_vec_push(inputs, digest);
    }
    return error;
}

/* Room for what the file says it has, growing with what was really there. */
static void note(uint32_t **numbers, size_t *len, uint32_t number)
{
    if (!(*len & (*len - 1)))
        *numbers = csp_realloc_array(*numbers, *len ? 2 * *len : 1, sizeof **numbers);
    (*numbers)[(*len)++] = number;
}

static int read_branches(struct reader *reader)
{
    static const char expected[] = "branches, ascending";
    struct csp_sample_set *set = reader->set;
    uint64_t from = 0, to = 0;
    size_t count;
    int error = read_count(reader, &count, "branches");
    for (size_t i = 0; i < count && !error; i++) {
        error = next_item(reader, expected);
        uint64_t step = csp_cursor_uleb(&reader->blocks.cursor), before = to;
        from += step;
        to = from + (uint64_t)csp_cursor_sleb(&reader->blocks.cursor);
        if (!error && (reader->blocks.cursor.overrun || (i && !step && to <= before)))
            error = malformed(reader, expected);
        if (error)
            break;
        uint32_t number = csp_pairs_at(&set->branches, from, to);
        if (number == set->branch_infos.len)
            csp_vec_push(&set->branch_infos, (struct csp_set_branch){0});
        note(&reader->branches, &reader->branch_len, number);
    }
    return error;
}

static int read_callers(struct reader *reader)
{
    static const char expected[] = "callers";
    struct csp_sample_set *set = reader->set;
    struct csp_cursor *cursor = &reader->blocks.cursor;
    size_t count;
    int error = read_count(reader, &count, expected);
    for (size_t i = 0; i < count && !error; i++) {
        error = next_item(reader, expected);
        size_t calls = (size_t)csp_cursor_uleb(cursor);
        uint64_t call = 0;
        set->frames.len = 0;
        for (size_t c = 0; c < calls && !cursor->overrun; c++) {
            call += (uint64_t)csp_cursor_sleb(cursor);
            csp_vec_push(&set->frames, call);
        }
        if (!error && cursor->overrun)
            error = malformed(reader, expected);
        if (!error)
            note(&reader->callers, &reader->caller_len,
                 csp_intern(&set->callers, set->frames.data, calls * sizeof call));
    }
    return error;
}

/* The hot loop of merging: numbers have one or two bytes. */
static bool read_numbers(struct reader *reader, uint32_t *numbers, uint32_t count)
{
    struct csp_cursor *cursor = &reader->blocks.cursor;
    const uint32_t *branches = reader->branches;
    const size_t known = reader->branch_len;
    const uint8_t *at = cursor->at, *end = cursor->end;
    uint32_t i = 0;
    /* Whether it is one byte or two is as good as random: no branch is taken on it. */
    for (; i < count && end - at >= 2; i++) {
        uint32_t pair = csp_load16(at), more = pair >> 7 & 1;
        if ((pair & 0x8080) == 0x8080)
            break;
        uint32_t number = (pair & 0x7f) | (pair >> 1 & 0x3f80 & (0U - more));
        at += 1 + more;
        if (number >= known)
            return false;
        numbers[i] = branches[number];
    }
    cursor->at = at;
    for (; i < count; i++) {
        uint64_t number = csp_cursor_uleb(cursor);
        if (number >= known)
            return false;
        numbers[i] = branches[number];
    }
    return true;
}

static void count_pending(struct reader *reader, struct pending *pending)
{
    if (pending->sample.len)
        csp_sample_set_count_at(reader->set,
                                csp_intern_hashed(&reader->set->samples, pending->sample.data,
                                                  pending->sample.len, pending->hash),
                                pending->count);
    pending->sample.len = 0;
}

static struct pending *pending_before(struct reader *reader, unsigned steps)
{
    struct pending *pending = &reader->pending[(reader->next + PENDING - steps) % PENDING];
    return pending->sample.len ? pending : NULL;
}

/* The sample that was read last is on its way, and those before it a step further. */
static void step(struct reader *reader)
{
    const struct csp_intern *samples = &reader->set->samples;
    const struct pending *entry = pending_before(reader, ENTRY_AFTER);
    const struct pending *data = pending_before(reader, DATA_AFTER);
    csp_intern_fetch_slot(samples, reader->pending[reader->next].hash);
    if (entry)
        csp_intern_fetch_entry(samples, entry->hash);
    if (data)
        csp_intern_fetch_data(samples, data->hash);
    reader->next = (reader->next + 1) % PENDING;
}

static int read_sample(struct reader *reader, uint64_t *callers)
{
    struct csp_sample_set *set = reader->set;
    struct csp_cursor *cursor = &reader->blocks.cursor;
    uint32_t leaf = (uint32_t)csp_cursor_uleb(cursor);
    uint64_t start = csp_cursor_uleb(cursor), end = csp_cursor_uleb(cursor);
    uint64_t len = csp_cursor_uleb(cursor);
    if (*callers >= reader->caller_len)
        return malformed(reader, "the number of callers");
    if (len > csp_cursor_left(cursor))
        return malformed(reader, "as many branches");
    if (!len && !(start && end))
        return malformed(reader, "a sample with branches, or with a start and an end");
    struct pending *pending = &reader->pending[reader->next];
    count_pending(reader, pending);
    struct csp_flat_sample *sample =
        (void *)csp_buf_reserve(&pending->sample, sizeof *sample + len * sizeof *sample->branches);
    *sample = (struct csp_flat_sample){.start = start,
                                       .end = end,
                                       .callers = reader->callers[*callers],
                                       .leaf = leaf,
                                       .branch_len = (uint32_t)len};
    if (!read_numbers(reader, sample->branches, sample->branch_len))
        return malformed(reader, "the number of a branch");
    uint64_t count = csp_cursor_uleb(cursor);
    if (cursor->overrun || !count)
        return malformed(reader, "a sample and its count");
    pending->count = csp_sample_set_times(set, count, reader->weight);
    pending->sample.len = csp_flat_size(sample);
    pending->hash = csp_intern_hash(sample, pending->sample.len);
    step(reader);
    return 0;
}

static int read_samples(struct reader *reader)
{
    uint64_t callers = 0;
    for (;;) {
        int error = next_item(reader, "a sample, or the end of samples");
        if (error)
            return error;
        uint64_t step = csp_cursor_uleb(&reader->blocks.cursor);
        if (!step)
            break;
        callers += step - 1;
        error = read_sample(reader, &callers);
        if (error)
            return error;
    }
    for (unsigned i = 0; i < PENDING; i++)
        count_pending(reader, &reader->pending[(reader->next + i) % PENDING]);
    int error = csp_block_next(&reader->blocks, reader->diag);
    return error || reader->blocks.ended ? error : malformed(reader, "the end");
}

static int read_header(const uint8_t *data, size_t size, const char *path, struct csp_diag *diag)
{
    if (size < CSP_AGGREGATE_HEADER || memcmp(data, CSP_AGGREGATE_MAGIC, 8) != 0)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s is no aggregate, as `csprof gen --format aggregate` writes them: "
                        "expected " CSP_AGGREGATE_MAGIC " at offset 0",
                        path);
    if (csp_load32(data + 8) != CSP_AGGREGATE_VERSION)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 8: version %u, and this csprof knows version %d", path,
                        csp_load32(data + 8), CSP_AGGREGATE_VERSION);
    if (csp_load32(data + 12))
        return csp_fail(diag, CSP_ERR_INPUT, "%s: offset 12: expected 0", path);
    return 0;
}

int csp_aggregate_read_head(struct csp_aggregate *head, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    *head = (struct csp_aggregate){0};
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    struct reader reader = {
        .blocks = {.data = file.data,
                   .size = file.size,
                   .path = file.path,
                   .offset = CSP_AGGREGATE_HEADER},
        .diag = diag,
    };
    error = read_header(file.data, file.size, path, diag);
    if (!error)
        error = read_identity(&reader, head);
    if (!error)
        error = read_inputs(&reader, &head->inputs);
    csp_block_reader_free(&reader.blocks);
    csp_file_unmap(&file);
    return error;
}

int csp_aggregate_parse(struct csp_aggregate *aggregate, const void *data, size_t size,
                        const char *path, const struct csp_aggregate_how *how,
                        struct csp_diag *diag)
{
    struct csp_aggregate head = {0};
    struct reader reader = {
        .blocks = {.data = data, .size = size, .path = path, .offset = CSP_AGGREGATE_HEADER},
        .set = &aggregate->set,
        .weight = how && how->weight ? how->weight : 1,
        .diag = diag,
    };
    int error = read_header(data, size, path, diag);
    if (!error)
        error = read_identity(&reader, &head);
    if (!error)
        error = read_inputs(&reader, &head.inputs);
    if (!error)
        error = csp_aggregate_begin_merge(aggregate, &head, path, how && how->duplicates, diag);
    if (!error)
        error = read_branches(&reader);
    if (!error)
        error = read_callers(&reader);
    if (!error)
        error = read_samples(&reader);
    if (!error)
        csp_sample_set_merge_stats(&aggregate->set, &head.set.stats, reader.weight);
    for (unsigned i = 0; i < PENDING; i++)
        csp_buf_free(&reader.pending[i].sample);
    free(reader.branches);
    free(reader.callers);
    csp_block_reader_free(&reader.blocks);
    csp_aggregate_free(&head);
    return error;
}

int csp_aggregate_read(struct csp_aggregate *aggregate, const char *path,
                       const struct csp_aggregate_how *how, struct csp_diag *diag)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    error = csp_aggregate_parse(aggregate, file.data, file.size, file.path, how, diag);
    csp_file_unmap(&file);
    return error;
}

bool csp_aggregate_is(const char *path)
{
    char magic[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic &&
              !memcmp(magic, CSP_AGGREGATE_MAGIC, sizeof magic);
    if (fd >= 0)
        close(fd);
    return is;
}
