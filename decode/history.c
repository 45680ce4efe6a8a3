#include "decode/history.h"

bool csp_run_joins(const struct csp_run *run, const struct csp_run *next)
{
    return run->how == CSP_RUN_EXCEPTION && run->return_address == next->start &&
           run->context_id == next->context_id && run->el == next->el;
}

struct csp_stretch csp_stretch_of_window(const struct csp_windows *list,
                                         const struct csp_window *window)
{
    const struct csp_run *runs = list->runs.data + window->run_first;
    struct csp_stretch stretch = {.list = list};
    for (uint32_t first = window->run_len; first--;) {
        stretch.runs = &runs[first];
        stretch.run_len++;
        stretch.branch_len += runs[first].branch_len;
        if (!first || !csp_run_joins(&runs[first - 1], &runs[first]))
            break;
    }
    return stretch;
}

void csp_stretch_fetch(const struct csp_windows *list, const struct csp_window *window)
{
    enum { LINE = 64, MOST = 128 * LINE };
    if (!window->run_len || !list->branches.len)
        return;
    const struct csp_run *first = list->runs.data + window->run_first;
    const struct csp_run *last = first + window->run_len - 1;
    const char *oldest = (const char *)(list->branches.data + first->branch_first);
    /* At least: the codes may be more than the branches. */
    const char *end = (const char *)(list->branches.data + last->branch_first + last->branch_len);
    for (const char *at = end - oldest > MOST ? end - MOST : oldest; at < end; at += LINE)
        __builtin_prefetch(at);
}

static void put_before(void *user, struct csp_branch branch)
{
    struct csp_branch **next = user;
    struct csp_branch *before = --*next;
    before->from = branch.from;
    before->to = branch.to;
    before->kind = branch.kind;
}

void csp_stretch_branches(const struct csp_stretch *stretch, csp_branches *turns,
                          csp_branches *newest_first)
{
    newest_first->len = 0;
    csp_vec_reserve(newest_first, stretch->branch_len);
    newest_first->len = stretch->branch_len;
    struct csp_branch *next = newest_first->data + newest_first->len;
    csp_stretch_visit(stretch, turns, put_before, &next);
}
