#include "profgen/perf_script_reader.h"

#include "base/alloc.h"
#include "profgen/perf_script_block.h"
#include "profgen/text_branches.h"

#include <string.h>

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
    /* `count` is in samples since the mappings changed, `number` the set's or CSP_NO_BRANCH. */
    struct csp_text_branches branches;
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
    struct csp_text_branches *branches = &reader->branches;
    for (size_t i = 0; i < branches->list.len; i++)
        csp_sample_set_saw_branch(reader->set, branches->list.data[i].number,
                                  branches->list.data[i].count);
    csp_pairs_free(&branches->addresses);
    csp_intern_free(&reader->callers);
    branches->list.len = reader->callers_infos.len = 0;
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

static uint32_t find_branch(struct reader *reader, uint64_t from, uint64_t to)
{
    struct csp_text_branches *branches = &reader->branches;
    uint32_t id = csp_text_branches_at(branches, from, to);
    if (id == branches->list.len) {
        uint32_t number = csp_sample_set_branch(reader->set, reader->map->program,
                                                csp_address_map_find(reader->map, from),
                                                csp_address_map_find(reader->map, to));
        csp_vec_push(&branches->list,
                     (struct csp_text_branch){.number = number,
                                              .next = {CSP_NO_TEXT_BRANCH, CSP_NO_TEXT_BRANCH}});
    }
    return id;
}

static inline void add_branch(struct reader *reader, struct csp_text_branch *branch)
{
    branch->count += reader->count;
    reader->has_branches = true;
    if (branch->number != CSP_NO_BRANCH)
        csp_vec_push(&reader->numbers, branch->number);
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
        uint32_t id = find_branch(reader, branch.from, branch.to);
        add_branch(reader, &reader->branches.list.data[id]);
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

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* The branch whose text is at `at` and that came after another one before, or CSP_NO_TEXT_BRANCH.
 */
static uint32_t guess_branch(const struct csp_text_branches *branches, uint32_t before,
                             const char *at)
{
    const struct csp_text_branch *list = branches->list.data;
    for (int i = 0; before != CSP_NO_TEXT_BRANCH && i < 2; i++) {
        uint32_t likely = list[before].next[i];
        if (likely != CSP_NO_TEXT_BRANCH && csp_text_branch_is(&list[likely], at))
            return likely;
    }
    return CSP_NO_TEXT_BRANCH;
}

/* Reads the branch at `at`, which came after that of number `before` (CSP_NO_TEXT_BRANCH: it begins
 * a line), and puts its number there. Returns where its text ends, or null when there is none. */
static const char *read_branch(struct reader *reader, const char *at, uint32_t *before)
{
    struct csp_text_branches *branches = &reader->branches;
    uint32_t likely = guess_branch(branches, *before, at);
    if (likely != CSP_NO_TEXT_BRANCH) {
        *before = likely;
        return at + branches->list.data[likely].length;
    }
    uint64_t from, to;
    const char *end = csp_text_branch(at, &from, &to);
    if (!end)
        return NULL;
    uint32_t id = find_branch(reader, from, to);
    csp_text_branch_keep(&branches->list.data[id], at, end);
    if (*before != CSP_NO_TEXT_BRANCH)
        csp_text_branch_then(&branches->list.data[*before], id);
    *before = id;
    return end;
}

/* The line of branches that begins at `at`. Returns its end, or null when it is none; nothing was
 * read then. */
static const char *read_branches_fast(struct reader *reader, const char *at, const char *end)
{
    uint32_t branch = CSP_NO_TEXT_BRANCH;
    const char *next = read_branch(reader, at, &branch);
    if (!next)
        return NULL;
    for (;;) {
        add_branch(reader, &reader->branches.list.data[branch]);
        at = skip_blanks(csp_text_token_end(next));
        if (*at == '\n') {
            finish_sample(reader);
            return at + 1;
        }
        next = read_branch(reader, at, &branch);
        if (next)
            continue;
        struct csp_text rest = {at, end}, line;
        csp_line_next(&rest, &line);
        read_branches(reader, line);
        return rest.at;
    }
}

/* The kinds of lines that nearly all are, in their usual form: frames, branches and blank ones.
 * Returns the end of the line, or null when it is another. */
static const char *read_line_fast(struct reader *reader, const char *line, const char *end)
{
    uint64_t address;
    const char *at = skip_blanks(line);
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

int csp_script_read(const struct csp_input *source, uint64_t start, uint64_t end,
                    struct csp_address_map *map, struct csp_sample_set *set,
                    struct csp_perf_script_stats *stats, struct csp_diag *diag)
{
    struct reader reader = {.map = map, .set = set, .stats = stats, .count = 1};
    struct csp_script_blocks blocks = csp_script_blocks(source, start, end);
    struct csp_text block;
    int result;
    while ((result = csp_script_blocks_next(&blocks, &block, diag)) > 0)
        read_block(&reader, block);
    finish_sample(&reader);
    forget_addresses(&reader);
    csp_script_blocks_free(&blocks);
    csp_text_branches_free(&reader.branches);
    csp_vec_free(&reader.callers_infos);
    csp_vec_free(&reader.frames);
    csp_vec_free(&reader.numbers);
    return result;
}
