#include "decode/history.h"

bool csp_run_joins(const struct csp_run *run, const struct csp_run *next)
{
    return run->how == CSP_RUN_EXCEPTION && run->return_address == next->start &&
           run->context_id == next->context_id && run->el == next->el;
}

static void add_run(const struct csp_windows *list, const struct csp_run *run, uint32_t limit,
                    struct csp_history *history)
{
    size_t count = run->branch_len;
    if (!count)
        return;
    struct csp_branch_reader reader = csp_run_branches(list, run);
    if (limit && count > limit - history->branches.len)
        count = limit - history->branches.len;
    for (size_t older = run->branch_len - count; older--;)
        csp_branch_decode(&reader);
    csp_vec_reserve(&history->branches, count);
    struct csp_branch *out = history->branches.data + history->branches.len;
    for (size_t i = count; i--;)
        out[i] = csp_branch_decode(&reader);
    history->branches.len += count;
}

void csp_history_of_window(const struct csp_windows *list, const struct csp_window *window,
                           uint32_t limit, struct csp_history *history)
{
    history->branches.len = 0;
    history->start = history->end = 0;
    history->runs = 0;
    if (!window->run_len)
        return;
    const struct csp_run *first = list->runs.data + window->run_first;
    const struct csp_run *run = first + window->run_len - 1;
    history->end = run->end;
    for (;; run--) {
        add_run(list, run, limit, history);
        history->start = run->start;
        history->runs++;
        if (limit && history->branches.len == limit) {
            history->start = 0;
            return;
        }
        if (run == first || !csp_run_joins(run - 1, run))
            return;
    }
}

void csp_history_fetch(const struct csp_windows *list, const struct csp_window *window)
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

void csp_history_free(struct csp_history *history)
{
    csp_vec_free(&history->branches);
}
