#include "decode/preagg.h"

#include <string.h>

enum { INSTRUCTION = 4 };

/* What is counted: addresses of a process while it had certain mappings. */
struct key {
    uint64_t from, to;
    uint32_t pid, version;
    uint64_t kind; /* 'B' or 'F' */
};

struct line {
    char kind;
    struct csp_build_id from_id, to_id;
    uint64_t from, to, count;
};

static void count(struct csp_preagg *preagg, struct key *key, uint64_t time, char kind,
                  uint64_t from, uint64_t to)
{
    key->kind = (uint64_t)kind;
    key->from = from;
    key->to = to;
    uint32_t number = csp_intern(&preagg->keys, key, sizeof *key);
    if (number == preagg->counts.len)
        csp_vec_push(&preagg->counts, (struct csp_preagg_count){.time = time});
    preagg->counts.data[number].count++;
}

static void add_run(struct csp_preagg *preagg, struct key *key, uint64_t time,
                    const struct csp_windows *windows, const struct csp_run *run)
{
    uint64_t first = run->start;
    struct csp_branch_reader reader = csp_run_branches(windows, run);
    for (uint32_t i = 0; i < run->branch_len; i++) {
        const struct csp_branch branch = csp_branch_decode(&reader);
        count(preagg, key, time, 'F', first, branch.from);
        count(preagg, key, time, 'B', branch.from, branch.to);
        first = branch.to;
    }
    if (run->end > first)
        count(preagg, key, time, 'F', first, run->end - INSTRUCTION);
}

static void add_window(struct csp_preagg *preagg, const struct csp_chunk *chunk,
                       const struct csp_windows *windows, const struct csp_window *window)
{
    struct key key;
    memset(&key, 0, sizeof key); /* its bytes are compared */
    for (uint32_t i = 0; i < window->run_len; i++) {
        const struct csp_run *run = &windows->runs.data[window->run_first + i];
        if (preagg->recording) {
            const struct csp_spaces *spaces = csp_recording_spaces(preagg->recording);
            key.pid = run->context_id
                          ? csp_recording_pid(preagg->recording, (uint32_t)run->context_id)
                          : chunk->pid;
            key.version = csp_spaces_version(spaces, key.pid, chunk->time);
        }
        add_run(preagg, &key, chunk->time, windows, run);
    }
}

void csp_preagg_add(struct csp_preagg *preagg, const struct csp_chunk *chunk,
                    const struct csp_windows *windows)
{
    for (size_t i = 0; i < windows->windows.len; i++)
        add_window(preagg, chunk, windows, &windows->windows.data[i]);
}

static void locate(struct csp_preagg *preagg, uint32_t pid, uint64_t time, uint64_t *address,
                   struct csp_build_id *id)
{
    struct csp_location location;
    *id = (struct csp_build_id){0};
    if (!preagg->recording ||
        !csp_recording_locate(preagg->recording, pid, time, *address, &location))
        return;
    *address = location.address;
    *id =
        location.image
            ? location.image->build_id
            : csp_spaces_binary(csp_recording_spaces(preagg->recording), location.binary)->build_id;
}

static int compare_ids(const struct csp_build_id *a, const struct csp_build_id *b)
{
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return memcmp(a->bytes, b->bytes, a->size);
}

static int compare_places(const struct line *a, const struct line *b)
{
    int order = a->kind - b->kind;
    if (!order)
        order = compare_ids(&a->from_id, &b->from_id);
    if (!order)
        order = a->from < b->from ? -1 : a->from > b->from;
    if (!order)
        order = compare_ids(&a->to_id, &b->to_id);
    return order ? order : a->to < b->to ? -1 : a->to > b->to;
}

static int compare_lines(const void *left, const void *right)
{
    return compare_places(left, right);
}

static void add_location(struct csp_buf *out, const struct csp_build_id *id, uint64_t address)
{
    char text[41];
    csp_build_id_text(id, text);
    csp_buf_add_char(out, ' ');
    if (*text) {
        csp_buf_add_string(out, text);
        csp_buf_add_char(out, ':');
    }
    csp_buf_add_hex(out, address);
}

static void add_line(struct csp_buf *out, const struct line *line)
{
    csp_buf_add_char(out, line->kind);
    add_location(out, &line->from_id, line->from);
    add_location(out, &line->to_id, line->to);
    csp_buf_add_char(out, ' ');
    csp_buf_add_decimal(out, line->count);
    csp_buf_add_string(out, line->kind == 'B' ? " 0\n" : "\n");
}

void csp_preagg_text(struct csp_preagg *preagg, struct csp_buf *out)
{
    size_t count = preagg->counts.len;
    struct line *lines = csp_calloc(count + 1, sizeof *lines);
    for (size_t i = 0; i < count; i++) {
        const struct key *key = preagg->keys.entries.data[i].data;
        struct line *line = &lines[i];
        *line = (struct line){.kind = (char)key->kind,
                              .from = key->from,
                              .to = key->to,
                              .count = preagg->counts.data[i].count};
        locate(preagg, key->pid, preagg->counts.data[i].time, &line->from, &line->from_id);
        locate(preagg, key->pid, preagg->counts.data[i].time, &line->to, &line->to_id);
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count;) {
        struct line sum = lines[i];
        while (++i < count && !compare_places(&sum, &lines[i]))
            sum.count += lines[i].count;
        add_line(out, &sum);
    }
    free(lines);
}

void csp_preagg_free(struct csp_preagg *preagg)
{
    csp_intern_free(&preagg->keys);
    csp_vec_free(&preagg->counts);
}
