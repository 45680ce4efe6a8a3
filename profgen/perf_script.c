#include "profgen/perf_script.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/parallel.h"
#include "perfdata/reader.h"
#include "profgen/perf_script_block.h"
#include "profgen/perf_script_reader.h"

#include <string.h>

enum {
    WORTH_A_THREAD = 1 << 17
}; /* bytes: parts know nothing of each other, and are put together */

/* A piece of the text that one thread reads. */
struct part {
    const struct csp_input *source;
    uint64_t start, end;
    struct csp_address_map first_map; /* what it was read with … */
    struct csp_address_map map;       /* … and how that was left */
    struct csp_sample_set own_set, *set;
    struct csp_perf_script_stats stats;
    struct csp_diag *diag;
    int error;
};

static void read_part(struct part *part)
{
    csp_address_map_copy(&part->map, &part->first_map);
    part->error = csp_script_read(part->source, part->start, part->end, &part->map, part->set,
                                  &part->stats, part->diag);
}

static void read_part_of(void *parts, unsigned number)
{
    read_part((struct part *)parts + number);
}

/* Finds the first line with branches from an offset on. *end is where the line ends, *frames tells
 * whether one with a frame is before it. Returns 1, 0 when there is none, or a negative error. */
static int find_branches(const struct csp_input *source, uint64_t offset, uint64_t *end,
                         bool *frames, struct csp_diag *diag)
{
    struct csp_script_blocks blocks = csp_script_blocks(source, offset, source->size);
    struct csp_text block, line;
    bool whole = !offset; /* at an offset there is the rest of a line */
    enum csp_line_kind kind = CSP_LINE_OTHER;
    int result;
    while ((result = csp_script_blocks_next(&blocks, &block, diag)) > 0) {
        while (kind != CSP_LINE_BRANCHES && csp_line_next(&block, &line)) {
            *frames = kind == CSP_LINE_FRAME;
            kind = whole ? csp_line_classify(line) : CSP_LINE_OTHER;
            whole = true;
        }
        *end = csp_script_blocks_offset(&blocks, block.at);
        if (kind == CSP_LINE_BRANCHES)
            break;
    }
    csp_script_blocks_free(&blocks);
    return result;
}

/* Text was expected. */
static int fail_without_branches(const struct csp_input *source, struct csp_diag *diag)
{
    uint8_t begin[8];
    if (source->size >= sizeof begin && !csp_input_read(source, 0, begin, sizeof begin, NULL) &&
        csp_load64(begin) == CSP_PERFDATA_MAGIC)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s is a recording, and no text with samples: give it with -i",
                        source->path);
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s has no sample with branches in it: expected lines like "
                    "' 0x4005c8/0x4005dc/P/-/-/0 …', as `perf script -F ip,brstack "
                    "--show-mmap-events` writes them",
                    source->path);
}

int csp_perf_script_has_callchains(const struct csp_input *source, bool *has, struct csp_diag *diag)
{
    uint64_t end;
    int found = find_branches(source, 0, &end, has, diag);
    if (!found)
        return fail_without_branches(source, diag);
    return found < 0 ? found : 0;
}

/* Cuts the text where samples end. */
static int cut(struct part *parts, unsigned count, struct csp_diag *diag)
{
    const struct csp_input *source = parts->source;
    uint64_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t end = source->size / count * (i + 1);
        bool frames;
        int found = 0;
        if (i + 1 < count && end > at)
            found = find_branches(source, end, &end, &frames, diag);
        if (found < 0)
            return found;
        if (!found)
            end = i + 1 < count && end <= at ? at : source->size;
        parts[i].start = at;
        parts[i].end = at = end;
    }
    return 0;
}

/* Adds the mappings that come before the first sample to a map. */
static int read_head(const struct csp_input *source, struct csp_address_map *map,
                     struct csp_diag *diag)
{
    struct csp_text block, line;
    uint64_t end = 0;
    bool frames;
    int result = find_branches(source, 0, &end, &frames, diag);
    struct csp_script_blocks blocks = csp_script_blocks(source, 0, end);
    while (result >= 0 && (result = csp_script_blocks_next(&blocks, &block, diag)) > 0)
        while (csp_line_next(&block, &line))
            if (csp_line_classify(line) == CSP_LINE_MAPPING)
                csp_line_mapping(line, map);
    csp_script_blocks_free(&blocks);
    return result;
}

static void add_stats(struct csp_perf_script_stats *stats,
                      const struct csp_perf_script_stats *other)
{
    stats->mappings += other->mappings;
    stats->mappings_used += other->mappings_used;
    stats->other_lines += other->other_lines;
    stats->bad_branches += other->bad_branches;
}

static void forget_part(struct part *part)
{
    csp_address_map_free(&part->map);
    csp_sample_set_free(&part->own_set);
    part->own_set = csp_sample_set_like(part->set);
    part->stats = (struct csp_perf_script_stats){0};
}

static void put(struct csp_sample_set *set, struct csp_sample_set *read, unsigned threads)
{
    if (set->stats.samples) {
        csp_sample_set_take(set, read, threads);
        return;
    }
    csp_sample_set_free(set);
    *set = *read;
    *read = csp_sample_set_like(set);
}

/* Takes the parts together, in order, and puts their samples into the sets. All were read as if
 * nothing was mapped after the first samples of the text; where that was wrong, they are read
 * again. */
static int join(struct part *parts, unsigned count, struct csp_address_map *map,
                struct csp_script_sets sets, struct csp_perf_script_stats *stats)
{
    int error = 0;
    for (unsigned i = 0; i < count && !error; i++) {
        struct part *part = &parts[i];
        const struct csp_address_map *before = i ? &parts[i - 1].map : map;
        if (!csp_address_map_equal(&part->first_map, before)) {
            forget_part(part);
            csp_address_map_free(&part->first_map);
            csp_address_map_copy(&part->first_map, before);
            read_part(part);
        }
        error = part->error;
        if (i && !error)
            put(sets.list[i % sets.count], part->set, count);
        add_stats(stats, &part->stats);
    }
    if (!error) {
        csp_address_map_free(map);
        csp_address_map_copy(map, &parts[count - 1].map);
    }
    return error;
}

int csp_perf_script_read(const struct csp_input *source, struct csp_address_map *map,
                         struct csp_script_sets sets, unsigned threads,
                         struct csp_perf_script_stats *stats, struct csp_diag *diag)
{
    unsigned count = csp_parallel_worth(threads, source->size, WORTH_A_THREAD);
    struct part *parts = csp_calloc(count, sizeof *parts);
    struct csp_address_map head = {0};
    parts->source = source;
    csp_address_map_copy(&head, map);
    int error = count > 1 ? read_head(source, &head, diag) : 0;
    if (!error)
        error = cut(parts, count, diag);
    for (unsigned i = 0; i < count; i++) {
        struct part *part = &parts[i];
        part->source = source;
        part->diag = diag;
        part->own_set = csp_sample_set_like(sets.list[0]);
        part->set = i ? &part->own_set : sets.list[0];
        csp_address_map_copy(&part->first_map, i ? &head : map);
    }
    if (!error) {
        csp_parallel(count, read_part_of, parts);
        error = join(parts, count, map, sets, stats);
    }
    for (unsigned i = 0; i < count; i++) {
        csp_address_map_free(&parts[i].first_map);
        csp_address_map_free(&parts[i].map);
        csp_sample_set_free(&parts[i].own_set);
    }
    csp_address_map_free(&head);
    free(parts);
    return error;
}
