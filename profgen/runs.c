#include "profgen/runs.h"

#include "base/alloc.h"
#include "profgen/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RUN_BLOCK = 128 << 10, /* so much of each run is in memory while they are merged */
    RUN_LEVEL = 1,
};

static FILE *open_temporary(struct csp_diag *diag)
{
    const char *folder = getenv("TMPDIR");
    char *path = csp_asprintf("%s/csprof-run.XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (fd >= 0)
        unlink(path);
    if (!file)
        csp_fail(diag, CSP_ERR_IO,
                 "%s: cannot create a file for what does not fit into memory: %s (TMPDIR names "
                 "another folder)",
                 path, strerror(errno));
    free(path);
    return file;
}

static void add_sample(struct csp_buf *out, const struct csp_flat_sample *sample, uint64_t count)
{
    csp_block_add_uleb(out, (uint64_t)sample->callers + 1);
    csp_block_add_uleb(out, sample->leaf);
    csp_block_add_uleb(out, sample->start);
    csp_block_add_uleb(out, sample->end);
    csp_block_add_uleb(out, sample->branch_len);
    for (uint32_t i = 0; i < sample->branch_len; i++)
        csp_block_add_uleb(out, csp_flat_number(sample, i));
    csp_block_add_uleb(out, count);
}

static void write_run(const struct csp_sample_set *set, struct csp_block_writer *writer)
{
    struct csp_sample_order order;
    csp_sample_order_begin(&order, set);
    uint32_t *numbers = csp_sample_order_samples(&order);
    for (size_t i = 0; i < set->counts.len; i++) {
        add_sample(&writer->block, csp_sample_set_at(set, numbers[i]),
                   set->counts.data[numbers[i]]);
        csp_block_item(writer);
    }
    csp_block_end(writer);
    free(numbers);
    csp_sample_order_free(&order);
}

int csp_runs_put(struct csp_runs *runs, struct csp_sample_set *set, struct csp_diag *diag)
{
    FILE *file = open_temporary(diag);
    if (!file)
        return -CSP_ERR_IO;
    struct csp_block_writer writer = {.stream = file, .least = RUN_BLOCK, .level = RUN_LEVEL};
    csp_vec_push(&runs->files, file);
    write_run(set, &writer);
    runs->bytes += writer.written;
    csp_intern_free(&set->samples);
    set->counts.len = 0;
    set->put_aside++;
    if (fflush(file) == 0 && !ferror(file))
        return 0;
    return csp_fail(diag, CSP_ERR_IO,
                    "what does not fit into memory cannot be put aside: %s (TMPDIR names another "
                    "folder)",
                    strerror(errno));
}

size_t csp_samples_memory(const struct csp_sample_set *set)
{
    return set->samples.arena.total + set->samples.entries.cap * sizeof *set->samples.entries.data +
           set->samples.slot_count * sizeof *set->samples.slots +
           set->counts.cap * sizeof *set->counts.data;
}

int csp_runs_relieve(struct csp_runs *runs, struct csp_sample_set *set, size_t beside,
                     struct csp_diag *diag)
{
    return set->counts.len && csp_samples_memory(set) + beside > runs->memory
               ? csp_runs_put(runs, set, diag)
               : 0;
}

void csp_runs_free(struct csp_runs *runs)
{
    for (size_t i = 0; i < runs->files.len; i++)
        fclose(runs->files.data[i]);
    csp_vec_free(&runs->files);
}

/* ---- merging ---- */

struct run {
    struct csp_block_reader blocks;
    struct csp_buf sample;     /* a struct csp_flat_sample: the next one */
    CSP_VEC(uint32_t) numbers; /* scratch: its branches */
    uint64_t count;
    bool ended;
};

struct merging {
    const struct csp_sample_order *order;
    struct run *runs;
    uint32_t *heap; /* numbers of runs that have not ended, the least sample first */
    size_t heap_len;
    struct csp_diag *diag;
};

static struct csp_flat_sample *head_of(const struct run *run)
{
    return (struct csp_flat_sample *)(void *)run->sample.data;
}

static int read_head(struct run *run, struct csp_diag *diag)
{
    struct csp_cursor *cursor = &run->blocks.cursor;
    int error = csp_block_next(&run->blocks, diag);
    run->ended = run->blocks.ended;
    if (error || run->ended)
        return error;
    struct csp_flat_sample fields = {.callers = (uint32_t)csp_cursor_uleb(cursor) - 1};
    fields.leaf = (uint16_t)csp_cursor_uleb(cursor);
    fields.start = csp_cursor_uleb(cursor);
    fields.end = csp_cursor_uleb(cursor);
    fields.branch_len = (uint32_t)csp_cursor_uleb(cursor);
    run->sample.len = run->numbers.len = 0;
    csp_vec_reserve(&run->numbers, fields.branch_len);
    for (uint32_t i = 0; i < fields.branch_len; i++)
        csp_vec_push(&run->numbers, (uint32_t)csp_cursor_uleb(cursor));
    struct csp_flat_sample *sample =
        (void *)csp_buf_reserve(&run->sample, csp_flat_room(fields.branch_len));
    *sample = fields;
    csp_flat_pack(sample, run->numbers.data);
    run->count = csp_cursor_uleb(cursor);
    return 0;
}

static bool is_less(const struct merging *merging, uint32_t a, uint32_t b)
{
    return csp_sample_order_compare(merging->order, head_of(&merging->runs[a]),
                                    head_of(&merging->runs[b])) < 0;
}

static void sink(struct merging *merging, size_t at)
{
    uint32_t *heap = merging->heap;
    for (size_t child; (child = 2 * at + 1) < merging->heap_len; at = child) {
        if (child + 1 < merging->heap_len && is_less(merging, heap[child + 1], heap[child]))
            child++;
        if (!is_less(merging, heap[child], heap[at]))
            return;
        uint32_t run = heap[at];
        heap[at] = heap[child];
        heap[child] = run;
    }
}

/* The run at the top goes on to its next sample. */
static int advance(struct merging *merging)
{
    struct run *run = &merging->runs[merging->heap[0]];
    int error = read_head(run, merging->diag);
    if (run->ended)
        merging->heap[0] = merging->heap[--merging->heap_len];
    sink(merging, 0);
    return error;
}

static int begin(struct merging *merging, struct csp_runs *runs)
{
    int error = 0;
    merging->runs = csp_calloc(runs->files.len + 1, sizeof *merging->runs);
    merging->heap = csp_calloc(runs->files.len + 1, sizeof *merging->heap);
    for (uint32_t i = 0; i < runs->files.len && !error; i++) {
        rewind(runs->files.data[i]);
        merging->runs[i].blocks.stream = runs->files.data[i];
        merging->runs[i].blocks.path = "what was put aside in TMPDIR";
        error = read_head(&merging->runs[i], merging->diag);
        if (!merging->runs[i].ended)
            merging->heap[merging->heap_len++] = i;
    }
    for (size_t i = merging->heap_len; !error && i-- > 0;)
        sink(merging, i);
    return error;
}

int csp_runs_merge(struct csp_runs *runs, const struct csp_sample_order *order,
                   csp_run_sample_fn *each, void *user, uint64_t *saturated, struct csp_diag *diag)
{
    struct merging merging = {.order = order, .diag = diag};
    struct csp_buf kept = {0};
    int error = begin(&merging, runs);
    while (!error && merging.heap_len) {
        const struct run *first = &merging.runs[merging.heap[0]];
        const struct csp_flat_sample *head = head_of(first);
        uint64_t count = first->count;
        kept.len = 0;
        csp_buf_add(&kept, head, csp_flat_size(head));
        const struct csp_flat_sample *sample = (const void *)kept.data;
        error = advance(&merging);
        while (!error && merging.heap_len) {
            const struct run *next = &merging.runs[merging.heap[0]];
            if (csp_sample_order_compare(order, sample, head_of(next)) != 0)
                break;
            if (__builtin_add_overflow(count, next->count, &count)) {
                count = UINT64_MAX;
                ++*saturated;
            }
            error = advance(&merging);
        }
        if (!error)
            each(user, sample, count);
    }
    for (size_t i = 0; i < runs->files.len; i++) {
        csp_block_reader_free(&merging.runs[i].blocks);
        csp_buf_free(&merging.runs[i].sample);
        csp_vec_free(&merging.runs[i].numbers);
    }
    free(merging.runs);
    free(merging.heap);
    csp_buf_free(&kept);
    return error;
}
