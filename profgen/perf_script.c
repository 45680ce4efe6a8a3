#include "profgen/perf_script.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "profgen/perf_script_block.h"
#include "profgen/perf_script_text.h"

#include <string.h>

/* A branch as the text has it. */
struct text_branch {
    uint64_t count;  /* in samples since the mappings changed */
    uint32_t number; /* in the set, or CSP_NO_BRANCH */
};

/* Callers as the text has them; which ones they are depends on where the leaf is. */
struct text_callers {
    struct csp_set_callers callers[2];
    bool known[2];
};

/* What is done for each branch and callchain is done for each distinct one: their addresses are
 * looked up when they are first met, and again when mappings have changed. */
struct reader {
    struct csp_address_map *map;
    struct csp_sample_set *set;
    struct csp_perf_script_stats *stats;
    struct csp_pairs branches; /* their addresses */
    CSP_VEC(struct text_branch) branch_infos;
    struct csp_intern callers; /* their addresses */
    CSP_VEC(struct text_callers) callers_infos;
    /* The sample at hand. */
    CSP_VEC(uint64_t) frames;
    CSP_VEC(uint32_t) numbers;
    uint64_t count;
    bool has_branches;
};

static void forget_addresses(struct reader *reader)
{
    for (size_t i = 0; i < reader->branch_infos.len; i++)
        csp_sample_set_saw_branch(reader->set, reader->branch_infos.data[i].number,
                                  reader->branch_infos.data[i].count);
    csp_pairs_free(&reader->branches);
    csp_intern_free(&reader->callers);
    reader->branch_infos.len = reader->callers_infos.len = 0;
}

static struct csp_set_callers find_callers(struct reader *reader, bool leaf_outside)
{
    const uint64_t *frames = reader->frames.data + 1;
    size_t len = reader->frames.len - 1;
    uint32_t id = csp_intern(&reader->callers, frames, len * sizeof *frames);
    if (id == reader->callers_infos.len)
        csp_vec_push(&reader->callers_infos, (struct text_callers){0});
    struct text_callers *info = &reader->callers_infos.data[id];
    if (!info->known[leaf_outside]) {
        uint64_t *mapped = csp_malloc((len + 1) * sizeof *mapped);
        for (size_t i = 0; i < len; i++)
            mapped[i] = csp_address_map_find(reader->map, frames[i]);
        info->known[leaf_outside] = true;
        info->callers[leaf_outside] = csp_sample_set_callers(reader->set, reader->map->program,
                                                             mapped, (uint32_t)len, leaf_outside);
        free(mapped);
    }
    return info->callers[leaf_outside];
}

static void finish_sample(struct reader *reader)
{
    const struct csp_program *program = reader->map->program;
    struct csp_numbered_sample sample = {
        .count = reader->count,
        .has_callchain = reader->frames.len,
        .has_branches = reader->has_branches,
        .verdict = CSP_VERDICT_NATIVE,
        .branches = reader->numbers.data,
        .branch_len = (uint32_t)reader->numbers.len,
    };
    if (sample.has_callchain && (reader->set->contexts || reader->set->compat)) {
        sample.leaf = csp_address_map_find(reader->map, reader->frames.data[0]);
        sample.callers =
            find_callers(reader, !csp_code_is_instruction(&program->code, sample.leaf));
    }
    if (sample.has_callchain || sample.has_branches)
        csp_sample_set_add_numbered(reader->set, program, &sample);
    reader->frames.len = reader->numbers.len = 0;
    reader->has_branches = false;
    reader->count = 1;
}

static void add_branch(struct reader *reader, uint64_t from, uint64_t to)
{
    uint32_t id = csp_pairs_at(&reader->branches, from, to);
    if (id == reader->branch_infos.len) {
        uint32_t number = csp_sample_set_branch(reader->set, reader->map->program,
                                                csp_address_map_find(reader->map, from),
                                                csp_address_map_find(reader->map, to));
        csp_vec_push(&reader->branch_infos, (struct text_branch){.number = number});
    }
    struct text_branch *info = &reader->branch_infos.data[id];
    info->count += reader->count;
    reader->has_branches = true;
    if (info->number != CSP_NO_BRANCH)
        csp_vec_push(&reader->numbers, info->number);
}

/* The branches in the rest of a line, and the end of their sample. */
static void read_branches(struct reader *reader, struct csp_text line)
{
    struct csp_branch branch = {0};
    for (csp_text_skip_blanks(&line); line.at < line.end; csp_text_skip_blanks(&line)) {
        if (!csp_text_take_branch(&line, &branch)) {
            reader->stats->bad_branches++;
            break;
        }
        add_branch(reader, branch.from, branch.to);
    }
    finish_sample(reader);
}

static void read_line(struct reader *reader, struct csp_text line)
{
    struct csp_branch branch;
    struct csp_text rest = line;
    uint64_t address;
    switch (csp_line_classify(line)) {
    case CSP_LINE_BLANK:
        finish_sample(reader);
        break;
    case CSP_LINE_COUNT:
        finish_sample(reader);
        csp_text_take_decimal(&line, &reader->count);
        break;
    case CSP_LINE_FRAME:
        csp_text_skip_blanks(&line);
        csp_text_take_hex(&line, &address);
        csp_vec_push(&reader->frames, address);
        break;
    case CSP_LINE_BRANCHES:
        if (!csp_text_take_branch(&rest, &branch)) {
            /* The sample's own address stands before its branches when it has no callchain. */
            csp_text_skip_blanks(&line);
            csp_text_take_hex(&line, &address);
        }
        read_branches(reader, line);
        break;
    case CSP_LINE_MAPPING:
        finish_sample(reader);
        reader->stats->mappings++;
        if (csp_line_mapping(line, reader->map)) {
            reader->stats->mappings_used++;
            forget_addresses(reader);
        }
        break;
    case CSP_LINE_OTHER:
        finish_sample(reader);
        reader->stats->other_lines++;
        break;
    }
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* The line of branches that begins at `at`. Returns its end, or null when it is none; nothing was
 * read then. */
static const char *read_branches_fast(struct reader *reader, const char *at, const char *end)
{
    uint64_t from, to;
    const char *next = csp_text_branch(at, &from, &to);
    if (!next)
        return NULL;
    for (;;) {
        add_branch(reader, from, to);
        at = skip_blanks(csp_text_token_end(next));
        if (*at == '\n') {
            finish_sample(reader);
            return at + 1;
        }
        next = csp_text_branch(at, &from, &to);
        if (next)
            continue;
        struct csp_text rest = {at, end}, line;
        csp_line_next(&rest, &line);
        read_branches(reader, line);
        return rest.at;
    }
}

/* The two kinds of lines that nearly all are, in their usual form: frames and branches. Returns the
 * end of the line, or null when it is another. */
static const char *read_line_fast(struct reader *reader, const char *line, const char *end)
{
    uint64_t address;
    const char *at = skip_blanks(line);
    if (csp_text_0x(at))
        return read_branches_fast(reader, at, end);
    unsigned digits = csp_text_hex(at, &address);
    if (digits - 1 > 15)
        return NULL;
    bool indented = at > line;
    at += digits;
    if (*at == '\n' && indented) {
        csp_vec_push(&reader->frames, address);
        return at + 1;
    }
    /* An address and branches, without a callchain. */
    return *at == ' ' ? read_branches_fast(reader, skip_blanks(at), end) : NULL;
}

static void read_block(struct reader *reader, struct csp_text rest)
{
    struct csp_text line;
    while (rest.at < rest.end) {
        const char *next = read_line_fast(reader, rest.at, rest.end);
        if (next)
            rest.at = next;
        else if (csp_line_next(&rest, &line))
            read_line(reader, line);
    }
}

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
    struct reader reader = {.map = &part->map, .set = part->set, .stats = &part->stats, .count = 1};
    struct csp_script_blocks blocks = csp_script_blocks(part->source, part->start, part->end);
    struct csp_text block;
    csp_address_map_copy(&part->map, &part->first_map);
    while ((part->error = csp_script_blocks_next(&blocks, &block, part->diag)) > 0)
        read_block(&reader, block);
    finish_sample(&reader);
    forget_addresses(&reader);
    csp_script_blocks_free(&blocks);
    csp_vec_free(&reader.branch_infos);
    csp_vec_free(&reader.callers_infos);
    csp_vec_free(&reader.frames);
    csp_vec_free(&reader.numbers);
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

int csp_perf_script_has_callchains(const struct csp_input *source, bool *has, struct csp_diag *diag)
{
    uint64_t end;
    int found = find_branches(source, 0, &end, has, diag);
    if (found)
        return found < 0 ? found : 0;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s has no sample with branches in it: expected lines like "
                    "' 0x4005c8/0x4005dc/P/-/-/0 …', as `perf script -F ip,brstack "
                    "--show-mmap-events` writes them",
                    source->path);
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

/* Takes the parts together, in order. All were read as if nothing was mapped after the first
 * samples of the text; where that was wrong, they are read again. */
static int join(struct part *parts, unsigned count, struct csp_address_map *map,
                struct csp_sample_set *set, struct csp_perf_script_stats *stats)
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
        if (part->set != set && !error)
            csp_sample_set_merge(set, part->set, 1);
        add_stats(stats, &part->stats);
    }
    if (!error) {
        csp_address_map_free(map);
        csp_address_map_copy(map, &parts[count - 1].map);
    }
    return error;
}

int csp_perf_script_read(const struct csp_input *source, struct csp_address_map *map,
                         struct csp_sample_set *set, unsigned threads,
                         struct csp_perf_script_stats *stats, struct csp_diag *diag)
{
    unsigned count = threads ? threads : 1;
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
        part->own_set = csp_sample_set_like(set);
        part->set = i ? &part->own_set : set;
        csp_address_map_copy(&part->first_map, i ? &head : map);
    }
    if (!error) {
        csp_parallel(count, read_part_of, parts);
        error = join(parts, count, map, set, stats);
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
