#include "decode/callchain.h"

enum { A64_INSTRUCTION = 4 };

/* Drops frames down to the one a return went to. A return that no open call explains is a longjmp
 * or the like: what is open then cannot be known. An empty stack is a return out of the window's
 * beginning. */
static void pop_to(csp_frames *open, uint64_t target)
{
    for (size_t depth = open->len; depth-- > 0;) {
        if (open->data[depth] == target) {
            open->len = depth;
            return;
        }
    }
    open->len = 0;
}

static void reverse(csp_frames *frames)
{
    for (size_t i = 0, j = frames->len; i + 1 < j; i++) {
        uint64_t swap = frames->data[i];
        frames->data[i] = frames->data[--j];
        frames->data[j] = swap;
    }
}

void csp_history_open_calls(const struct csp_history *history, csp_frames *out)
{
    out->len = 0;
    for (size_t i = history->branches.len; i-- > 0;) {
        const struct csp_branch *branch = &history->branches.data[i];
        if (branch->kind == CSP_BRANCH_CALL || branch->kind == CSP_BRANCH_INDIRECT_CALL)
            csp_vec_push(out, branch->from + A64_INSTRUCTION);
        else if (branch->kind == CSP_BRANCH_RETURN)
            pop_to(out, branch->to);
    }
    reverse(out);
}

/* How many of the chain's callers are among the open calls from number `next` on. Both are in
 * order, and the chain may lack any of them: every function without a frame record hides its own
 * return address. */
static uint32_t count_known(const csp_frames *open, size_t next, const uint64_t *callers,
                            uint32_t len)
{
    for (uint32_t known = 0; known < len; known++) {
        size_t at = next;
        while (at < open->len && open->data[at] != callers[known])
            at++;
        if (at == open->len)
            return known;
        next = at + 1;
    }
    return len;
}

unsigned csp_callchain_repair(const struct csp_history *history, const uint64_t *chain,
                              uint32_t chain_len, uint64_t lr, enum csp_leaf_state leaf,
                              csp_frames *out)
{
    out->len = 0;
    if (!chain_len)
        return CSP_REPAIR_NONE;
    const uint64_t *callers = chain + 1;
    uint32_t caller_len = chain_len - 1, known = 0;
    unsigned repair = CSP_REPAIR_NONE;
    csp_history_open_calls(history, out);
    if (out->len) {
        /* In a recursion all callers look alike: only the tables can tell that the first is
         * missing. */
        known =
            count_known(out, leaf == CSP_LEAF_LR || leaf == CSP_LEAF_STACK, callers, caller_len);
        if (known < out->len)
            repair = CSP_REPAIR_HISTORY;
    } else if (leaf == CSP_LEAF_LR && lr) {
        csp_vec_push(out, lr);
        repair = CSP_REPAIR_LR;
    }
    csp_vec_reserve(out, caller_len - known + 1);
    for (size_t i = out->len; i-- > 0;)
        out->data[i + 1] = out->data[i];
    out->data[0] = chain[0];
    out->len++;
    for (uint32_t i = known; i < caller_len; i++)
        out->data[out->len++] = callers[i];
    return repair;
}
