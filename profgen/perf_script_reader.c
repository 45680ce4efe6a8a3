#include "profgen/perf_script_reader.h"

#include "base/alloc.h"
#include "profgen/perf_script_block.h"
#include "profgen/text_branches.h"
#include "profgen/text_samples.h"

#include <string.h>

/* Callers as the text has them; which ones they are depends on where the leaf is. */
struct text_callers {
    struct csp_set_callers callers[2];
    bool known[2];
};

/* What is done for each branch, callchain and sample is done for each distinct one: their addresses
 * are looked up when they are first met, and again when mappings have changed. */
struct reader {
    struct csp_address_map *map;
    struct csp_sample_set *set;
    struct csp_perf_script_stats *stats;
    struct csp_text_branches branches; /* `number` is the set's or CSP_NO_BRANCH */
    struct csp_intern callers;         /* their addresses */
    CSP_VEC(struct text_callers) callers_infos;
    struct csp_pairs leaves;       /* addresses, 0 … */
    CSP_VEC(uint32_t) leaf_kinds;  /* … and a number for what matters of each */
    struct csp_pairs kinds;        /* function, flags */
    struct csp_text_samples texts; /* samples by how they look */
    uint32_t mappings;             /* how often they changed */
    /* The sample at hand. */
    CSP_VEC(uint64_t) frames;
    CSP_VEC(uint32_t) numbers;
    uint64_t count;
    struct csp_branch_tally tally; /* of its branches, but for external ones, … */
    uint64_t seen;                 /* … and how many there are */
    /* Since reading a sample began. */
    struct csp_text_sample last; /* of those that were finished */
    uint32_t finished;
    bool irregular; /* there were lines of other forms than nearly all have */
};

static void forget_addresses(struct reader *reader)
{
    csp_text_branches_free(&reader->branches);
    csp_text_branches_begin(&reader->branches);
    csp_text_samples_free(&reader->texts);
    csp_intern_free(&reader->callers);
    csp_pairs_free(&reader->leaves);
    reader->callers_infos.len = reader->leaf_kinds.len = 0;
    reader->mappings++;
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
        .has_branches = reader->seen,
        .verdict = CSP_VERDICT_NATIVE,
        .branches = reader->numbers.data,
        .branch_len = (uint32_t)reader->numbers.len,
    };
    if (sample.has_callchain && (reader->set->contexts || reader->set->compat)) {
        sample.leaf = csp_address_map_find(reader->map, reader->frames.data[0]);
        sample.callers =
            find_callers(reader, !csp_code_is_instruction(&program->code, sample.leaf));
    }
    if (sample.has_callchain || sample.has_branches) {
        reader->tally.external = (uint32_t)(reader->seen - reader->numbers.len);
        reader->last = (struct csp_text_sample){
            csp_sample_set_add_numbered(reader->set, program, &sample), reader->tally};
        csp_sample_set_saw_branches(reader->set, &reader->last.tally, reader->count);
        reader->finished++;
    }
    reader->frames.len = reader->numbers.len = 0;
    reader->tally = (struct csp_branch_tally){0};
    reader->seen = 0;
    reader->count = 1;
}

static const struct csp_text_branch *find_branch(struct reader *reader, uint64_t from, uint64_t to)
{
    struct csp_text_branches *branches = &reader->branches;
    uint32_t place = csp_text_branches_at(branches, from, to);
    if (place == branches->list.len) {
        uint32_t number = csp_sample_set_branch(reader->set, reader->map->program,
                                                csp_address_map_find(reader->map, from),
                                                csp_address_map_find(reader->map, to));
        const struct csp_branch_tally tally = csp_sample_set_tally(reader->set, number);
        csp_vec_push(
            &branches->list,
            (struct csp_text_branch){.number = number,
                                     .tally = tally.inside | (uint64_t)tally.impossible << 32});
    }
    return &branches->list.data[place];
}

static void add_branch(struct reader *reader, const struct csp_text_branch *branch)
{
    reader->seen++;
    reader->tally.inside += (uint32_t)branch->tally;
    reader->tally.impossible += (uint32_t)(branch->tally >> 32);
    if (branch->number != CSP_NO_BRANCH)
        csp_vec_push(&reader->numbers, branch->number);
}

/* The branches in the rest of a line, and the end of their sample. */
static void read_branches(struct reader *reader, struct csp_text line)
{
    reader->irregular = true;
    struct csp_branch branch = {0};
    for (csp_text_skip_blanks(&line); line.at < line.end; csp_text_skip_blanks(&line)) {
        if (!csp_text_take_branch(&line, &branch)) {
            reader->stats->bad_branches++;
            break;
        }
        add_branch(reader, find_branch(reader, branch.from, branch.to));
    }
    finish_sample(reader);
}

static void read_mapping(struct reader *reader, struct csp_text line)
{
    size_t before = reader->map->mappings.len;
    reader->stats->mappings++;
    reader->stats->mappings_used += csp_line_mapping(line, reader->map);
    if (reader->map->mappings.len != before)
        forget_addresses(reader);
}

static void read_line(struct reader *reader, struct csp_text line)
{
    struct csp_branch branch;
    struct csp_text rest = line;
    uint64_t address;
    reader->irregular = true;
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
        read_mapping(reader, line);
        break;
    case CSP_LINE_OTHER:
        finish_sample(reader);
        reader->stats->other_lines++;
        break;
    }
}

/* Where the branch whose text is at `at` is in the list, or 0 when there is none; *next is where
 * the next one, or the end of the line, is. */
static uint32_t look_up_branch(struct reader *reader, const char *at, const char **next)
{
    struct csp_text_branches *branches = &reader->branches;
    uint32_t place = csp_text_branches_find(branches, at);
    if (place) {
        *next = csp_text_next_token(at + branches->list.data[place].text.length);
        return place;
    }
    uint64_t from, to;
    const char *end = csp_text_branch(at, &from, &to);
    if (!end)
        return 0;
    place = (uint32_t)(find_branch(reader, from, to) - branches->list.data);
    csp_text_branches_keep(branches, place, at, end);
    *next = csp_text_next_token(end + (*end == '/'));
    return place;
}

/* The same of a branch that comes after that of place `before`; 0: it begins a line. */
static inline uint32_t read_branch(struct reader *reader, uint32_t before, const char *at,
                                   const char **next)
{
    struct csp_text_branch *list = reader->branches.list.data;
    uint32_t likely = list[before].next;
    if (csp_branch_text_is(&list[likely].text, at)) {
        *next = csp_text_next_token(at + list[likely].text.length);
        return likely;
    }
    uint32_t place = look_up_branch(reader, at, next);
    if (place && reader->branches.list.data[place].text.length)
        reader->branches.list.data[before].next = place;
    return place;
}

/* The line of branches that begins at `line`. Returns its end, or null when it is none; nothing was
 * read then. */
static const char *read_branches_fast(struct reader *reader, const char *line, const char *end)
{
    const char *at = line;
    uint32_t place = read_branch(reader, 0, at, &at);
    if (!place)
        return NULL;
    uint64_t seen = 0, tally = 0;
    size_t len = 0;
    do {
        const struct csp_text_branch *branch = &reader->branches.list.data[place];
        if (len == reader->numbers.cap)
            csp_vec_reserve(&reader->numbers, len + 64);
        reader->numbers.data[len] = branch->number;
        len += branch->number != CSP_NO_BRANCH;
        tally += branch->tally;
        seen++;
    } while (*at != '\n' && (place = read_branch(reader, place, at, &at)));
    reader->numbers.len = len;
    reader->seen = seen;
    reader->tally.inside = (uint32_t)tally;
    reader->tally.impossible = (uint32_t)(tally >> 32);
    if (*at == '\n') {
        finish_sample(reader);
        return at + 1;
    }
    struct csp_text other = {at, end}, rest;
    csp_line_next(&other, &rest);
    read_branches(reader, rest);
    return other.at;
}

/* The kinds of lines that nearly all are, in their usual form: frames, branches and blank ones.
 * Returns the end of the line, or null when it is another. */
static const char *read_line_fast(struct reader *reader, const char *line, const char *end)
{
    uint64_t address;
    const char *at = csp_text_blanks_end(line);
    if (*at == '\n') {
        finish_sample(reader);
        return at + 1;
    }
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
    return *at == ' ' ? read_branches_fast(reader, csp_text_blanks_end(at), end) : NULL;
}

/* The lines from `at` on, of whole ones that end at `end`, up to one that ends at `until` or behind
 * it. Returns where that is. */
static const char *read_lines(struct reader *reader, const char *at, const char *until,
                              const char *end)
{
    struct csp_text line;
    while (at < until) {
        const char *next = read_line_fast(reader, at, end);
        if (!next) {
            struct csp_text rest = {at, end};
            csp_line_next(&rest, &line);
            read_line(reader, line);
            next = rest.at;
        }
        at = next;
    }
    return at;
}

static bool is_between_samples(const struct reader *reader)
{
    return !reader->frames.len && !reader->seen && reader->count == 1;
}

/* A number for all that matters of the address that a sample was taken at; never 0. */
static uint32_t leaf_kind(struct reader *reader, uint64_t leaf)
{
    const struct csp_program *program = reader->map->program;
    if (!reader->set->contexts && !reader->set->compat)
        return 1;
    uint32_t number = csp_pairs_at(&reader->leaves, leaf, 0);
    if (number == reader->leaf_kinds.len) {
        uint64_t address = csp_address_map_find(reader->map, leaf);
        uint8_t flags = csp_code_flags(&program->code, address);
        uint32_t function = csp_functions_at(&program->functions, address);
        uint32_t kind =
            csp_pairs_at(&reader->kinds, function, flags & (CSP_CODE_START | CSP_CODE_EDGE));
        csp_vec_push(&reader->leaf_kinds, kind + 1);
    }
    return reader->leaf_kinds.data[number];
}

/* Reads what looks like a sample, or adds what it was known by. */
static void read_sample(struct reader *reader, const struct csp_sample_text *text, const char *end)
{
    struct csp_text_sample known;
    bool whole = text->rest && is_between_samples(reader);
    if (whole && csp_text_samples_find(&reader->texts, text, &known)) {
        csp_sample_set_add_again(reader->set, &known.outcome, 1);
        csp_sample_set_saw_branches(reader->set, &known.tally, 1);
        return;
    }
    reader->irregular = false;
    reader->finished = 0;
    read_lines(reader, text->at, text->end, end);
    if (whole && !reader->irregular && reader->finished == 1 && is_between_samples(reader))
        csp_text_samples_keep(&reader->texts, text, &reader->last);
}

enum { MOST_AT_ONCE = 16 }; /* samples that are being fetched */

/* The texts of the next samples; returns how many. */
static size_t find_samples(struct reader *reader, const char *at, const char *end,
                           struct csp_sample_text *texts)
{
    size_t count = 0;
    while (count < MOST_AT_ONCE && csp_sample_text_next(at, end, &texts[count])) {
        struct csp_sample_text *text = &texts[count++];
        at = text->end;
        if (text->rest)
            csp_text_samples_key(&reader->texts, text,
                                 text->has_leaf ? leaf_kind(reader, text->leaf) : 0);
    }
    for (size_t i = 0; i < count; i++)
        if (texts[i].rest)
            csp_text_samples_fetch(&reader->texts, &texts[i]);
    return count;
}

static void read_block(struct reader *reader, struct csp_text block)
{
    struct csp_sample_text texts[MOST_AT_ONCE];
    const char *at = block.at;
    size_t count;
    while ((count = find_samples(reader, at, block.end, texts))) {
        uint32_t mappings = reader->mappings;
        for (size_t i = 0; i < count; i++) {
            if (reader->mappings != mappings)
                texts[i].rest = NULL; /* its key is of what was forgotten */
            read_sample(reader, &texts[i], block.end);
        }
        at = texts[count - 1].end;
    }
    read_lines(reader, at, block.end, block.end);
}

int csp_script_read(const struct csp_input *source, uint64_t start, uint64_t end,
                    struct csp_address_map *map, struct csp_sample_set *set,
                    struct csp_perf_script_stats *stats, struct csp_diag *diag)
{
    struct reader reader = {.map = map, .set = set, .stats = stats, .count = 1};
    csp_text_branches_begin(&reader.branches);
    struct csp_script_blocks blocks = csp_script_blocks(source, start, end);
    struct csp_text block;
    int result;
    while ((result = csp_script_blocks_next(&blocks, &block, diag)) > 0)
        read_block(&reader, block);
    finish_sample(&reader);
    csp_script_blocks_free(&blocks);
    csp_text_branches_free(&reader.branches);
    csp_text_samples_free(&reader.texts);
    csp_intern_free(&reader.callers);
    csp_pairs_free(&reader.leaves);
    csp_pairs_free(&reader.kinds);
    csp_vec_free(&reader.leaf_kinds);
    csp_vec_free(&reader.callers_infos);
    csp_vec_free(&reader.frames);
    csp_vec_free(&reader.numbers);
    return result;
}
