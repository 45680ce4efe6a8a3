/* The branches of an aggregate. Files of one binary have much the same ones in the same order, and
 * so the same bytes: an entry that is, byte for byte, the one that stood behind the same branch in
 * a file before is not decoded and not looked up. */
#include "profgen/aggregate_reader.h"

static const struct csp_followers none = {
    {[0 ... CSP_FOLLOWERS - 1] = {.bytes = UINT64_MAX, .number = CSP_NO_PAIR}}};
static const char expected[] = "branches, ascending";

/* What is found goes a place to the front: those that are met most are found first. */
static const struct csp_follower *find(struct csp_followers *followers, uint64_t bytes)
{
    struct csp_follower *known = followers->known;
    if (!((bytes ^ known->bytes) << known->beyond))
        return known;
    for (unsigned i = 1; i < CSP_FOLLOWERS; i++) {
        const struct csp_follower found = known[i];
        if ((bytes ^ found.bytes) << found.beyond)
            continue;
        known[i] = known[i - 1];
        known[i - 1] = found;
        return &known[i - 1];
    }
    return NULL;
}

/* In the last place. */
static void learn(struct csp_followers *followers, const struct csp_cursor *cursor,
                  const uint8_t *entry, uint32_t number)
{
    enum { BYTES = sizeof(uint64_t) };
    size_t size = (size_t)(cursor->at - entry);
    if (size <= BYTES && cursor->end - entry >= BYTES)
        followers->known[CSP_FOLLOWERS - 1] =
            (struct csp_follower){csp_load64(entry), number, (uint32_t)(8 * (BYTES - size))};
}

static uint32_t number_of(struct csp_aggregate_reader *reader, const struct csp_pair *branch)
{
    struct csp_sample_set *set = reader->set;
    uint32_t number = csp_pairs_at(&set->branches, branch->first, branch->second);
    if (number == set->branch_infos.len)
        csp_vec_push(&set->branch_infos, (struct csp_set_branch){0});
    while (reader->followers.len <= number)
        csp_vec_push(&reader->followers, none);
    return number;
}

/* `before` is the branch before, and becomes this one. */
static int decode(struct csp_aggregate_reader *reader, uint32_t *before)
{
    int error = csp_aggregate_next_item(reader, expected);
    if (error)
        return error;
    struct csp_cursor *cursor = &reader->blocks.cursor;
    const uint8_t *entry = cursor->at;
    const bool first = *before == CSP_NO_PAIR;
    const struct csp_pair last =
        first ? (struct csp_pair){0} : reader->set->branches.list.data[*before];
    struct csp_pair branch = {.first = last.first + csp_cursor_uleb(cursor)};
    branch.second = branch.first + (uint64_t)csp_cursor_sleb(cursor);
    bool ascends = first || branch.first != last.first || branch.second > last.second;
    if (cursor->overrun || !ascends)
        return csp_aggregate_malformed(reader, expected);
    uint32_t number = number_of(reader, &branch);
    if (!first)
        learn(&reader->followers.data[*before], cursor, entry, number);
    csp_vec_push(&reader->branches, number);
    *before = number;
    return 0;
}

/* As many as are known to follow one another. They ascend, as they did when they were decoded. */
static uint32_t follow(struct csp_aggregate_reader *reader, uint32_t before, size_t count)
{
    struct csp_cursor *cursor = &reader->blocks.cursor;
    const uint8_t *at = cursor->at;
    while (reader->branches.len < count && cursor->end - at >= (ptrdiff_t)sizeof(uint64_t)) {
        const struct csp_follower *next = find(&reader->followers.data[before], csp_load64(at));
        if (!next || next->number == CSP_NO_PAIR)
            break;
        at += sizeof(uint64_t) - next->beyond / 8;
        before = next->number;
        __builtin_prefetch(&reader->followers.data[before + 8]);
        csp_vec_push(&reader->branches, before);
    }
    cursor->at = at;
    return before;
}

int csp_aggregate_read_branches(struct csp_aggregate_reader *reader)
{
    uint32_t before = CSP_NO_PAIR;
    size_t count;
    int error = csp_aggregate_read_count(reader, &count, "branches");
    while (!error && reader->branches.len < count) {
        error = decode(reader, &before);
        if (!error)
            before = follow(reader, before, count);
    }
    return error;
}
