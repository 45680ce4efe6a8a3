#include "decode/window_memo.h"

#include <string.h>

enum {
    SEEN = 1 << 16, /* hashes of keys that came once */
    ENTRIES = 1 << 15,
    MEMORY = 40 << 20, /* bytes of keys, runs and branches */
    /* Of each so many chunks the first are looked at; all, when enough of those were repeats. */
    ROUND = 1 << 13,
    LOOKED_AT = 1 << 9,
    ENOUGH = LOOKED_AT / 16,
    NO_TIME = 0xff,
};

/* A run's times, as numbers of the key's. */
struct times {
    uint8_t first, last;
};

/* In the memory, one behind the other: this, the runs, their times, the branches, the key's bytes.
 */
struct entry {
    uint64_t hash, context, context_id;
    struct csp_window_stats stats;
    uint32_t run_len, code_len, key_len;
    uint8_t el;
};

struct csp_window_memo {
    uint64_t seen[SEEN];
    uint32_t entries[ENTRIES]; /* by hash, open: where in the memory, + 1 */
    uint32_t entry_count;
    size_t used;
    uint8_t *memory;
    uint64_t chunks, repeats; /* in this round */
    bool wants_all;
};

struct csp_window_memo *csp_window_memo_create(void)
{
    struct csp_window_memo *memo = csp_calloc(1, sizeof *memo);
    memo->memory = csp_malloc(MEMORY);
    return memo;
}

void csp_window_memo_destroy(struct csp_window_memo *memo)
{
    if (!memo)
        return;
    free(memo->memory);
    free(memo);
}

void csp_window_memo_forget(struct csp_window_memo *memo)
{
    if (memo->entry_count)
        memset(memo->entries, 0, sizeof memo->entries);
    memo->entry_count = 0;
    memo->used = 0;
}

bool csp_window_memo_wants(struct csp_window_memo *memo)
{
    if (memo->chunks == LOOKED_AT)
        memo->wants_all = memo->repeats >= ENOUGH;
    if (memo->chunks == ROUND)
        memo->chunks = memo->repeats = 0;
    return memo->chunks++ < LOOKED_AT || memo->wants_all;
}

/* ---- entries ---- */

static struct csp_run *runs_of(const struct entry *entry)
{
    return (struct csp_run *)(uintptr_t)(entry + 1);
}

static csp_branch_code *branches_of(const struct entry *entry)
{
    return (csp_branch_code *)(runs_of(entry) + entry->run_len);
}

static struct times *times_of(const struct entry *entry)
{
    return (struct times *)(branches_of(entry) + entry->code_len);
}

static uint8_t *key_of(const struct entry *entry)
{
    return (uint8_t *)(times_of(entry) + entry->run_len);
}

static size_t size_of(const struct entry *entry)
{
    size_t size = (size_t)(key_of(entry) - (const uint8_t *)entry) + entry->key_len;
    return (size + 7) / 8 * 8;
}

/* The place of that key's entry, or the one where it belongs. */
static uint32_t *place_of(struct csp_window_memo *memo, const struct csp_window_key *key)
{
    for (uint32_t i = (uint32_t)key->hash;; i++) {
        uint32_t *place = &memo->entries[i % ENTRIES];
        if (!*place)
            return place;
        const struct entry *entry = (const void *)(memo->memory + *place - 1);
        if (entry->hash == key->hash && entry->context == key->context &&
            entry->key_len == key->bytes.len &&
            memcmp(key_of(entry), key->bytes.data, entry->key_len) == 0)
            return place;
    }
}

/* ---- recalling ---- */

static void add_window(const struct entry *entry, const struct csp_window_key *key, uint64_t offset,
                       struct csp_window_builder *builder)
{
    struct csp_windows *out = builder->out;
    const struct times *times = times_of(entry);
    uint32_t first_branch = (uint32_t)out->branches.len;
    csp_vec_push(&out->windows, (struct csp_window){.source = builder->source,
                                                    .run_first = (uint32_t)out->runs.len,
                                                    .run_len = entry->run_len,
                                                    .enabled = true,
                                                    .trace_offset = offset + key->trace_on});
    csp_vec_reserve(&out->branches, entry->code_len);
    memcpy(out->branches.data + out->branches.len, branches_of(entry),
           entry->code_len * sizeof *out->branches.data);
    out->branches.len += entry->code_len;
    csp_vec_reserve(&out->runs, entry->run_len);
    for (uint32_t i = 0; i < entry->run_len; i++) {
        struct csp_run run = runs_of(entry)[i];
        run.branch_first += first_branch;
        run.first_ts = times[i].first == NO_TIME ? 0 : key->times[times[i].first];
        run.last_ts = times[i].last == NO_TIME ? 0 : key->times[times[i].last];
        out->runs.data[out->runs.len++] = run;
    }
}

bool csp_window_memo_recall(struct csp_window_memo *memo, const struct csp_window_key *key,
                            uint64_t offset, struct csp_window_builder *builder, bool *learn)
{
    uint32_t place = *place_of(memo, key);
    *learn = false;
    if (!place) {
        uint64_t *seen = &memo->seen[key->hash % SEEN];
        *learn = *seen == key->hash;
        memo->repeats += *learn;
        *seen = key->hash;
        return false;
    }
    const struct entry *entry = (const void *)(memo->memory + place - 1);
    memo->repeats++;
    add_window(entry, key, offset, builder);
    csp_window_stats_add(&builder->stats, &entry->stats);
    builder->context_id = entry->context_id;
    builder->el = entry->el;
    builder->unstamped = builder->out->runs.len;
    return true;
}

/* ---- learning ---- */

/* The number of the only time of that value. */
static bool find_time(const struct csp_window_key *key, uint64_t time, uint8_t *number)
{
    unsigned found = 0;
    *number = NO_TIME;
    for (unsigned i = 0; time && i < key->time_count; i++) {
        if (key->times[i] != time)
            continue;
        *number = (uint8_t)i;
        found++;
    }
    return found == (time != 0);
}

/* Whether the counts are those of a window that was followed from its enabling to its end, in which
 * every atom was a branch of a run, and every run but the last ended with an exception: then runs
 * begin and end where the key has sections. */
static bool is_whole(const struct csp_windows *out, const struct csp_window_stats *stats,
                     uint64_t atoms)
{
    const struct csp_window *window = &out->windows.data[out->windows.len - 1];
    if (stats->windows != 1 || !window->enabled || window->cut || stats->runs != window->run_len ||
        !window->run_len || stats->unmapped_ranges || stats->unknown_paths || stats->overflows)
        return false;
    if (stats->ranges < atoms || stats->ranges > atoms + stats->exceptions)
        return false;
    for (uint32_t i = 0; i < window->run_len; i++) {
        const struct csp_run *run = &out->runs.data[window->run_first + i];
        bool is_last = i + 1 == window->run_len;
        if (run->how != CSP_RUN_EXCEPTION && !(is_last && run->how == CSP_RUN_TRACE_OFF))
            return false;
    }
    return true;
}

void csp_window_memo_learn(struct csp_window_memo *memo, const struct csp_window_key *key,
                           const struct csp_window_builder *builder,
                           const struct csp_window_stats *before)
{
    const struct csp_windows *out = builder->out;
    struct entry entry = {.hash = key->hash,
                          .context = key->context,
                          .context_id = builder->context_id,
                          .stats = csp_window_stats_since(&builder->stats, before),
                          .key_len = (uint32_t)key->bytes.len,
                          .el = builder->el};
    if (!out->windows.len || !is_whole(out, &entry.stats, key->atoms))
        return;
    const struct csp_window *window = &out->windows.data[out->windows.len - 1];
    const struct csp_run *runs = &out->runs.data[window->run_first];
    uint32_t first_branch = runs->branch_first;
    entry.run_len = window->run_len;
    entry.code_len = (uint32_t)out->branches.len - first_branch;
    struct times times[CSP_KEY_TIMES];
    if (entry.run_len > CSP_KEY_TIMES)
        return;
    for (uint32_t i = 0; i < entry.run_len; i++)
        if (!find_time(key, runs[i].first_ts, &times[i].first) ||
            !find_time(key, runs[i].last_ts, &times[i].last))
            return;
    size_t size = size_of(&entry);
    if (memo->used + size > MEMORY || memo->entry_count >= ENTRIES / 2)
        csp_window_memo_forget(memo);
    uint32_t *place = place_of(memo, key);
    if (*place || size > MEMORY)
        return;
    struct entry *kept = (void *)(memo->memory + memo->used);
    *place = (uint32_t)memo->used + 1;
    memo->used += size;
    memo->entry_count++;
    *kept = entry;
    memcpy(branches_of(kept), &out->branches.data[first_branch],
           entry.code_len * sizeof *out->branches.data);
    memcpy(times_of(kept), times, entry.run_len * sizeof *times);
    memcpy(key_of(kept), key->bytes.data, key->bytes.len);
    for (uint32_t i = 0; i < entry.run_len; i++) {
        runs_of(kept)[i] = runs[i];
        runs_of(kept)[i].branch_first -= first_branch;
    }
}
