#include "profgen/sample_mapper.h"

#include "base/alloc.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWN_BITS = 14 }; /* of the number of places; programs have some ten thousand branches */

#define NO_VERSION UINT32_MAX /* of no space */

size_t csp_sample_mapper_begin(struct csp_sample_mapper *mapper, const struct csp_program *program,
                               const struct csp_spaces *spaces, const struct csp_build_id **another)
{
    size_t count = csp_spaces_binary_count(spaces), found = 0;
    *mapper = (struct csp_sample_mapper){.program = program, .spaces = spaces, .oldest = 1};
    mapper->ours = csp_calloc(count + 1, 1);
    mapper->known = csp_calloc((size_t)1 << KNOWN_BITS, sizeof *mapper->known);
    *another = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct csp_binary *file = csp_spaces_binary(spaces, i);
        bool same_name = !strcmp(csp_file_name(file->path), program->name);
        if (file->build_id.size && program->build_id.size)
            mapper->ours[i] = csp_build_id_equal(&file->build_id, &program->build_id);
        else
            mapper->ours[i] = same_name;
        found += mapper->ours[i];
        if (same_name && !mapper->ours[i])
            *another = &file->build_id;
    }
    return found;
}

void csp_sample_mapper_into(struct csp_sample_mapper *mapper, struct csp_sample_set *set)
{
    mapper->set = set;
    memset(mapper->known, 0, sizeof *mapper->known << KNOWN_BITS);
}

static struct csp_address_stretch stretch_of(const struct csp_mapping *mapping,
                                             const struct csp_program_segment *segment)
{
    uint64_t first = mapping->page_offset, last = first + (mapping->end - mapping->start);
    first = first > segment->offset ? first : segment->offset;
    last =
        last < segment->offset + segment->file_size ? last : segment->offset + segment->file_size;
    return (struct csp_address_stretch){.start = mapping->start + (first - mapping->page_offset),
                                        .size = last - first,
                                        .address = segment->address + (first - segment->offset)};
}

static bool is_in(const struct csp_address_stretch *stretch, uint64_t address)
{
    return address - stretch->start < stretch->size;
}

/* The last stretch of the program goes into the first place, and what was there to the others. */
static void keep_stretch(struct csp_sample_mapper *mapper, struct csp_address_stretch stretch)
{
    struct csp_address_stretch *place = &mapper->stretches[mapper->oldest];
    if (stretch.address == CSP_EXTERNAL) {
        *place = stretch;
    } else {
        *place = mapper->stretches[0];
        mapper->stretches[0] = stretch;
    }
    mapper->oldest = mapper->oldest + 1 < CSP_MAPPER_STRETCHES ? mapper->oldest + 1 : 1;
}

/* An address that was in none of the last stretches. */
static uint64_t look_up(struct csp_sample_mapper *mapper, uint64_t address)
{
    const struct csp_mapping *mapping =
        csp_spaces_find(mapper->spaces, mapper->pid, mapper->time, address);
    if (!mapping)
        return CSP_EXTERNAL;
    uint64_t offset = address - mapping->start + mapping->page_offset;
    bool ours = mapper->ours[mapping->binary];
    const struct csp_program_segment *segment =
        ours ? csp_program_segment_at(mapper->program, offset) : NULL;
    /* Old kernels say that they are mapped from zero on: theirs are not for other addresses. */
    if (!mapping->kernel && segment)
        keep_stretch(mapper, stretch_of(mapping, segment));
    else if (!mapping->kernel && !ours)
        keep_stretch(mapper, (struct csp_address_stretch){
                                 mapping->start, mapping->end - mapping->start, CSP_EXTERNAL});
    return segment ? segment->address + (offset - segment->offset) : CSP_EXTERNAL;
}

static uint64_t map_elsewhere(struct csp_sample_mapper *mapper, uint64_t address)
{
    for (int i = 1; i < CSP_MAPPER_STRETCHES; i++) {
        const struct csp_address_stretch *stretch = &mapper->stretches[i];
        if (is_in(stretch, address))
            return stretch->address == CSP_EXTERNAL ? CSP_EXTERNAL
                                                    : stretch->address + (address - stretch->start);
    }
    return look_up(mapper, address);
}

static inline uint64_t map_address(struct csp_sample_mapper *mapper, uint64_t address)
{
    const struct csp_address_stretch *stretch = &mapper->stretches[0];
    return is_in(stretch, address) ? stretch->address + (address - stretch->start)
                                   : map_elsewhere(mapper, address);
}

static void enter_space(struct csp_sample_mapper *mapper, const struct csp_sample *sample)
{
    mapper->time = sample->time;
    if (sample->pid == mapper->pid && sample->time >= mapper->from && sample->time <= mapper->to &&
        mapper->version)
        return;
    uint32_t version = csp_spaces_version(mapper->spaces, sample->pid, sample->time);
    if (sample->pid != mapper->pid || version != mapper->version)
        for (int i = 0; i < CSP_MAPPER_STRETCHES; i++)
            mapper->stretches[i] = (struct csp_address_stretch){0};
    csp_spaces_unchanged(mapper->spaces, sample->time, &mapper->from, &mapper->to);
    mapper->pid = sample->pid;
    mapper->version = version;
}

static uint32_t find_branch(struct csp_sample_mapper *mapper, uint64_t from, uint64_t to)
{
    if (from == CSP_EXTERNAL && to == CSP_EXTERNAL)
        return CSP_NO_BRANCH;
    uint32_t known = csp_pairs_find(&mapper->set->branches, from, to);
    return known != CSP_NO_PAIR ? known
                                : csp_sample_set_branch(mapper->set, mapper->program, from, to);
}

static inline struct csp_mapped_branch *place_of(struct csp_mapped_branch *known, uint64_t from,
                                                 uint64_t to)
{
    return &known[(from + to * 3) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KNOWN_BITS)];
}

/* The kernel's addresses may be another thing's in the same version of a space. */
static bool is_users(uint64_t address)
{
    return !(address >> 63);
}

/* A branch that is not at its place. It gets there when nothing but its addresses has to be looked
 * at, in the space that it was recorded in, to tell that it is the same. */
static uint32_t number_another(struct csp_sample_mapper *mapper, uint64_t from, uint64_t to)
{
    uint32_t number = find_branch(mapper, map_address(mapper, from), map_address(mapper, to));
    const struct csp_branch_tally one = csp_sample_set_tally(mapper->set, number);
    mapper->tally.impossible += one.impossible;
    mapper->tally.inside += one.inside;
    if (!one.impossible && is_users(from | to))
        *place_of(mapper->known, from, to) = (struct csp_mapped_branch){.from = from,
                                                                        .to = to,
                                                                        .version = mapper->version,
                                                                        .number = number,
                                                                        .counts = !one.external,
                                                                        .inside = one.inside};
    return number;
}

/* The branches of a sample being numbered, oldest first. */
struct numbering {
    struct csp_mapped_branch *known;    /* of the mapper */
    struct csp_unknown_branch *unknown; /* where the next one goes */
    uint32_t *newest;                   /* of the numbers so far */
    uint32_t version, inside;
};

/* Which branch comes next no processor can predict, and a place of its own needs no prediction.
 * What is not at its place is looked for later: a call would have all else out of registers. */
static inline void number_branch(void *user, struct csp_branch branch)
{
    static const struct csp_mapped_branch hole = {.number = CSP_NO_BRANCH, .counts = 1};
    struct numbering *numbering = user;
    const struct csp_mapped_branch *known = place_of(numbering->known, branch.from, branch.to);
    if (known->from != branch.from || known->to != branch.to ||
        known->version != numbering->version) {
        known = &hole;
        numbering->unknown->from = branch.from;
        numbering->unknown->to = branch.to;
        numbering->unknown->number = numbering->newest - 1;
        numbering->unknown++;
    }
    numbering->newest[-1] = known->number;
    numbering->newest -= known->counts;
    numbering->inside += known->inside;
}

static struct numbering begin_numbering(struct csp_sample_mapper *mapper, uint32_t branch_len)
{
    csp_vec_reserve(&mapper->numbers, branch_len + 1);
    csp_vec_reserve(&mapper->unknown, branch_len + 1);
    return (struct numbering){.known = mapper->known,
                              .unknown = mapper->unknown.data,
                              .newest = mapper->numbers.data + branch_len + 1,
                              .version = mapper->version ? mapper->version : NO_VERSION};
}

/* Takes those out that have no number. */
static uint32_t *close_holes(uint32_t *newest, uint32_t *end)
{
    uint32_t *to = end;
    for (const uint32_t *from = end; from-- > newest;)
        if (*from != CSP_NO_BRANCH)
            *--to = *from;
    return to;
}

static void end_numbering(struct csp_sample_mapper *mapper, const struct numbering *numbering,
                          uint32_t branch_len)
{
    uint32_t *end = mapper->numbers.data + branch_len + 1, *newest = numbering->newest;
    bool holes = false;
    mapper->tally = (struct csp_branch_tally){.inside = numbering->inside};
    for (struct csp_unknown_branch *i = mapper->unknown.data; i < numbering->unknown; i++) {
        *i->number = number_another(mapper, i->from, i->to);
        holes |= *i->number == CSP_NO_BRANCH;
    }
    mapper->newest = holes ? close_holes(newest, end) : newest;
    mapper->branch_len = (uint32_t)(end - mapper->newest);
    mapper->tally.external = branch_len - mapper->branch_len;
}

void csp_sample_mapper_stretch(struct csp_sample_mapper *mapper, const struct csp_sample *sample,
                               const struct csp_stretch *stretch, csp_branches *turns)
{
    enter_space(mapper, sample);
    struct numbering numbering = begin_numbering(mapper, stretch->branch_len);
    csp_stretch_visit(stretch, turns, number_branch, &numbering);
    end_numbering(mapper, &numbering, stretch->branch_len);
}

static void number_branches(struct csp_sample_mapper *mapper, const struct csp_sample *sample)
{
    struct numbering numbering = begin_numbering(mapper, sample->branch_len);
    for (uint32_t i = sample->branch_len; i--;)
        number_branch(&numbering, sample->branches[i]);
    end_numbering(mapper, &numbering, sample->branch_len);
}

static void take_callchain(struct csp_sample_mapper *mapper, const struct csp_sample *sample,
                           struct csp_numbered_sample *numbered)
{
    const struct csp_program *program = mapper->program;
    mapper->frames.len = 0;
    csp_vec_reserve(&mapper->frames, sample->callchain_len);
    for (uint32_t i = 0; i < sample->callchain_len; i++)
        mapper->frames.data[mapper->frames.len++] = map_address(mapper, sample->callchain[i]);
    numbered->leaf = mapper->frames.data[0];
    numbered->callers = csp_sample_set_callers(
        mapper->set, program, mapper->frames.data + 1, sample->callchain_len - 1,
        !csp_code_is_instruction(&program->code, numbered->leaf));
}

/* The end is not part of the range: what counts is where the instruction before it is. */
static uint64_t map_end(struct csp_sample_mapper *mapper, uint64_t end)
{
    uint64_t last = end ? map_address(mapper, end - 1) : CSP_EXTERNAL;
    return last == CSP_EXTERNAL ? 0 : last + 1;
}

uint64_t csp_sample_mapper_add(struct csp_sample_mapper *mapper, const struct csp_sample *sample)
{
    enter_space(mapper, sample);
    struct csp_numbered_sample numbered = {
        .count = sample->count,
        .leaf = CSP_EXTERNAL,
        .start = sample->start ? map_address(mapper, sample->start) : 0,
        .end = map_end(mapper, sample->end),
        .has_callchain = sample->callchain_len,
        .has_branches = sample->branch_len,
        .verdict = sample->verdict,
    };
    if (sample->callchain_len)
        take_callchain(mapper, sample, &numbered);
    if (sample->branches || !sample->branch_len)
        number_branches(mapper, sample);
    csp_sample_set_saw_branches(mapper->set, &mapper->tally, sample->count);
    numbered.branches = mapper->newest;
    numbered.branch_len = mapper->branch_len;
    csp_sample_set_add_numbered(mapper->set, mapper->program, &numbered);
    return numbered.leaf;
}

void csp_sample_mapper_free(struct csp_sample_mapper *mapper)
{
    free(mapper->ours);
    free(mapper->known);
    csp_vec_free(&mapper->frames);
    csp_vec_free(&mapper->numbers);
    csp_vec_free(&mapper->unknown);
}
