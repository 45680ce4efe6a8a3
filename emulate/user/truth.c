#include "emulate/user/truth.h"

#include "emulate/user/guest.h"

#include <stdlib.h>
#include <unistd.h>

static void write_all(int fd, struct csp_buf *buf)
{
    const char *at = buf->data;
    size_t left = buf->len;
    while (left) {
        ssize_t written = write(fd, at, left);
        if (written <= 0)
            break; /* collect notices that the file does not end in `done` */
        at += written;
        left -= (size_t)written;
    }
    buf->len = 0;
}

void csp_truth_map(struct csp_truth *truth, uint64_t start, uint64_t length, const char *path)
{
    struct csp_buf out = {0};
    if (truth->fd < 0)
        return;
    csp_buf_printf(&out, "map %llx %llx %s\n", (unsigned long long)start,
                   (unsigned long long)length, path);
    write_all(truth->fd, &out);
    csp_buf_free(&out);
}

void csp_truth_run(struct csp_truth *truth, uint64_t start)
{
    if (truth->fd < 0)
        return;
    csp_buf_add_string(&truth->window, "run ");
    csp_buf_add_hex(&truth->window, start);
    csp_buf_add_char(&truth->window, '\n');
    truth->run_instructions = 0;
}

void csp_truth_branch(struct csp_truth *truth, uint64_t from, uint64_t to, enum csp_flow_kind kind)
{
    if (truth->fd < 0)
        return;
    csp_buf_add_string(&truth->window, "b ");
    csp_buf_add_hex(&truth->window, from);
    csp_buf_add_char(&truth->window, ' ');
    csp_buf_add_hex(&truth->window, to);
    csp_buf_add_char(&truth->window, ' ');
    csp_buf_add_decimal(&truth->window, kind);
    csp_buf_add_char(&truth->window, '\n');
}

void csp_truth_run_end(struct csp_truth *truth, uint64_t return_address, unsigned type)
{
    if (truth->fd >= 0)
        csp_buf_printf(&truth->window, "end %llx %x %llu\n", (unsigned long long)return_address,
                       type, (unsigned long long)truth->run_instructions);
}

void csp_truth_window(struct csp_truth *truth, unsigned cpu, unsigned tid, uint64_t opened,
                      uint64_t closed, uint64_t sampled, uint64_t lr)
{
    if (truth->fd < 0)
        return;
    struct csp_buf out = {0};
    csp_buf_printf(&out, "window %u %u %llu %llu %llu\n", cpu, tid, (unsigned long long)opened,
                   (unsigned long long)closed, (unsigned long long)sampled);
    csp_buf_add(&out, truth->window.data, truth->window.len);
    if (sampled) {
        csp_buf_printf(&out, "lr %llx\n", (unsigned long long)lr);
        csp_shadow_print(&truth->stack, &out);
    }
    truth->window.len = 0;
    write_all(truth->fd, &out);
    csp_buf_free(&out);
}

void csp_truth_count(struct csp_truth *truth, const struct csp_block *block,
                     const struct csp_block *to)
{
    ++*csp_map_at(&truth->taken, (uint64_t)block->number << 32 | to->number);
}

void csp_truth_follow(struct csp_truth *truth, const struct csp_block *block, uint64_t to,
                      uint64_t sp)
{
    if (csp_flow_is_call(block->kind))
        csp_shadow_call(&truth->stack, block->end, sp);
    else if (csp_flow_is_indirect(block->kind))
        csp_shadow_jump(&truth->stack, to, sp);
}

struct count {
    uint64_t from, to, count;
};

static int by_address(const void *a, const void *b)
{
    const struct count *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Sorted, with equal address pairs added up (code translated twice, several threads). */
static void add_counts(struct csp_buf *out, const char *what, struct count *counts, size_t len)
{
    qsort(counts, len, sizeof *counts, by_address);
    for (size_t i = 0; i < len; i++) {
        if (i + 1 < len && by_address(&counts[i], &counts[i + 1]) == 0)
            counts[i + 1].count += counts[i].count;
        else if (counts[i].count)
            csp_buf_printf(out, "%s %llx %llx %llu\n", what, (unsigned long long)counts[i].from,
                           (unsigned long long)counts[i].to, (unsigned long long)counts[i].count);
    }
}

void csp_truth_counts(int fd, struct csp_truth *const *threads, size_t count, uint64_t instructions)
{
    struct csp_buf out = {0};
    CSP_VEC(struct count) counts = {0};
    const struct csp_block *block;
    csp_buf_add_string(&out, "counts\n");
    for (uint32_t i = 0; (block = csp_block_at(i)); i++)
        csp_vec_push(&counts, (struct count){block->start, block->end, block->runs});
    add_counts(&out, "code", counts.data, counts.len);
    counts.len = 0;
    for (size_t i = 0; i < count; i++) {
        const struct csp_map_entry *entry;
        size_t cursor = 0;
        while ((entry = csp_map_next(&threads[i]->taken, &cursor)))
            csp_vec_push(&counts,
                         (struct count){csp_block_last(csp_block_at(entry->key >> 32)),
                                        csp_block_at((uint32_t)entry->key)->start, entry->value});
    }
    add_counts(&out, "taken", counts.data, counts.len);
    csp_buf_printf(&out, "total %llu\ndone\n", (unsigned long long)instructions);
    write_all(fd, &out);
    csp_vec_free(&counts);
    csp_buf_free(&out);
}
