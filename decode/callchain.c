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

static struct csp_leaf find_leaf(const struct csp_unwind_tables *tables, uint64_t pc)
{
    return tables->leaf ? tables->leaf(tables->user, pc)
                        : (struct csp_leaf){.state = CSP_LEAF_UNKNOWN};
}

static bool is_within(const struct csp_leaf *function, uint64_t address)
{
    return address >= function->start && address < function->end;
}

static bool is_longjmp(const struct csp_branch *branch, const struct csp_unwind_tables *tables)
{
    if (branch->kind != CSP_BRANCH_INDIRECT)
        return false;
    struct csp_leaf function = find_leaf(tables, branch->to);
    return function.end && branch->to != function.start && !is_within(&function, branch->from);
}

static void follow(const struct csp_branch *branch, const struct csp_unwind_tables *tables,
                   csp_frames *open)
{
    if (branch->kind == CSP_BRANCH_CALL || branch->kind == CSP_BRANCH_INDIRECT_CALL)
        csp_vec_push(open, branch->from + A64_INSTRUCTION);
    else if (branch->kind == CSP_BRANCH_RETURN)
        pop_to(open, branch->to);
    else if (open->len && is_longjmp(branch, tables))
        open->len = 0;
}

void csp_open_calls(const csp_branches *turns, const struct csp_unwind_tables *tables,
                    csp_frames *out)
{
    out->len = 0;
    for (size_t i = 0; i < turns->len; i++)
        follow(&turns->data[i], tables, out);
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

static bool lacks_caller(const struct csp_leaf *leaf)
{
    return leaf->state == CSP_LEAF_LR || leaf->state == CSP_LEAF_STACK;
}

/* Whether x30 holds the function's return address. */
static bool tells_caller(const struct csp_leaf *leaf, uint64_t lr)
{
    bool outside = leaf->end && !is_within(leaf, lr);
    return lr && (leaf->state == CSP_LEAF_LR || outside);
}

/* Without an open call in the window: whether the chain lacks the first caller, and x30 knows. */
static unsigned repair_from_register(const struct csp_leaf *leaf, uint64_t lr,
                                     const uint64_t *callers, uint32_t len, csp_frames *out)
{
    if (tells_caller(leaf, lr) && (lacks_caller(leaf) || !len || callers[0] != lr)) {
        csp_vec_push(out, lr);
        return CSP_REPAIR_LR;
    }
    return lacks_caller(leaf) ? CSP_REPAIR_MISSING : CSP_REPAIR_NONE;
}

/* Whether a longjmp goes to the function that the outermost open call was made in: x30, once it has
 * been loaded, is in that, too. Until then it is the longjmp's own return address. */
static bool goes_to_outermost(const csp_frames *open, uint64_t lr,
                              const struct csp_unwind_tables *tables)
{
    if (!open->len || lr == open->data[0])
        return false;
    struct csp_leaf outermost = find_leaf(tables, open->data[open->len - 1] - A64_INSTRUCTION);
    return is_within(&outermost, lr);
}

static void put_before(csp_frames *frames, uint64_t pc)
{
    csp_vec_push(frames, 0);
    for (size_t i = frames->len - 1; i > 0; i--)
        frames->data[i] = frames->data[i - 1];
    frames->data[0] = pc;
}

unsigned csp_callchain_repair(const csp_branches *turns, const uint64_t *chain, uint32_t chain_len,
                              uint64_t lr, const struct csp_unwind_tables *tables, csp_frames *out)
{
    out->len = 0;
    if (!chain_len)
        return CSP_REPAIR_NONE;
    const uint64_t *callers = chain + 1;
    uint32_t caller_len = chain_len - 1, known = 0;
    unsigned repair = CSP_REPAIR_NONE;
    struct csp_leaf leaf = find_leaf(tables, chain[0]);
    csp_open_calls(turns, tables, out);
    if (out->len) {
        /* In a recursion all callers look alike: only the tables can tell that the first is
         * missing. */
        known = count_known(out, lacks_caller(&leaf), callers, caller_len);
        if (known < out->len)
            repair = CSP_REPAIR_HISTORY;
    } else if (leaf.state != CSP_LEAF_LONGJMP) {
        repair = repair_from_register(&leaf, lr, callers, caller_len, out);
    }
    if (leaf.state == CSP_LEAF_LONGJMP && !known && !goes_to_outermost(out, lr, tables)) {
        caller_len = 0;
        repair |= CSP_REPAIR_MISSING;
    }
    put_before(out, chain[0]);
    for (uint32_t i = known; i < caller_len; i++)
        csp_vec_push(out, callers[i]);
    return repair;
}
