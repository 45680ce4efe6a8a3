#include "profgen/missing_frames.h"

#include "base/alloc.h"
#include "base/search.h"
#include "profgen/llvm/machine.h"

#include <string.h>

enum { DEEPEST = 1000 };
#define FAR UINT32_MAX

/* A call that was seen to enter the function `to`. */
struct call {
    uint64_t address, to;
};

/* A jump from function to function. */
struct jump {
    uint64_t address;
    uint32_t from, to;
};

struct jumps {
    CSP_VEC(struct jump) list;
};

/* Jumps in csp_missing_frames.stored. */
struct path {
    uint32_t first, len;
};

struct csp_missing_frames {
    const struct csp_program *program;
    uint32_t deepest;
    bool shared; /* calls and jumps are another's */
    CSP_VEC(struct call) calls;
    struct jumps forward, backward; /* the same, by `from` and by `to` */
    struct csp_pairs pairs;         /* call, and the address of the next frame: … */
    CSP_VEC(struct path) paths;     /* … what is between them */
    uint32_t
        *distance; /* by function: jumps from it to the one looked for, FAR when none lead there */
    uint8_t *passed;           /* by function: it is on the path already */
    CSP_VEC(uint32_t) reached; /* those with a distance */
    CSP_VEC(uint64_t) stored;
};

static int by_call(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static int by_address(const struct jump *x, const struct jump *y)
{
    return x->address < y->address ? -1 : x->address > y->address;
}

static int by_from(const void *a, const void *b)
{
    const struct jump *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->address != y->address)
        return by_address(x, y);
    return x->to < y->to ? -1 : x->to > y->to;
}

static int by_to(const void *a, const void *b)
{
    const struct jump *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return by_address(x, y);
}

static void sort_calls(struct csp_missing_frames *frames)
{
    size_t kept = 0;
    if (frames->calls.len)
        qsort(frames->calls.data, frames->calls.len, sizeof *frames->calls.data, by_call);
    for (size_t i = 0; i < frames->calls.len; i++)
        if (!kept || by_call(&frames->calls.data[i], &frames->calls.data[kept - 1]) != 0)
            frames->calls.data[kept++] = frames->calls.data[i];
    frames->calls.len = kept;
}

static void sort_jumps(struct csp_missing_frames *frames)
{
    struct jumps *forward = &frames->forward, *backward = &frames->backward;
    size_t kept = 0;
    if (!forward->list.len)
        return;
    qsort(forward->list.data, forward->list.len, sizeof *forward->list.data, by_from);
    for (size_t i = 0; i < forward->list.len; i++)
        if (!kept || by_from(&forward->list.data[i], &forward->list.data[kept - 1]) != 0)
            forward->list.data[kept++] = forward->list.data[i];
    forward->list.len = kept;
    for (size_t i = 0; i < kept; i++)
        csp_vec_push(&backward->list, forward->list.data[i]);
    qsort(backward->list.data, kept, sizeof *backward->list.data, by_to);
}

static size_t find_call(const struct csp_missing_frames *frames, uint64_t address)
{
    return csp_lower_bound(frames->calls.data, frames->calls.len, address, address);
}

static bool calls_directly(const struct csp_missing_frames *frames, uint64_t call, uint32_t to)
{
    struct call wanted = {call, to};
    return frames->calls.len &&
           bsearch(&wanted, frames->calls.data, frames->calls.len, sizeof wanted, by_call);
}

/* The first of the jumps from (backward: to) a function; may be the list's end. */
static size_t find_jumps(const struct jumps *jumps, uint32_t function, bool backward)
{
    size_t low = 0, high = jumps->list.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct jump *jump = &jumps->list.data[middle];
        if ((backward ? jump->to : jump->from) < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the jump at an address may be a tail call: it leads to another function, or anywhere. */
static bool may_tail_call(const struct csp_program *program, uint64_t address, uint8_t flags)
{
    if (!(flags & CSP_CODE_BRANCH) || !(flags & CSP_CODE_ALWAYS))
        return false;
    if (flags & CSP_CODE_INDIRECT)
        return true;
    struct csp_insn insn;
    if (!csp_code_decode(&program->code, program->machine, address, &insn) || !insn.has_target)
        return false;
    uint32_t to = csp_functions_at(&program->functions, insn.target);
    return to != CSP_NO_FUNCTION && to != csp_functions_at(&program->functions, address);
}

static void learn(struct csp_missing_frames *frames, uint64_t from, uint64_t to)
{
    const struct csp_functions *functions = &frames->program->functions;
    const struct csp_function_range *source = csp_functions_find(functions, from);
    const struct csp_function_range *target = csp_functions_find(functions, to);
    uint8_t flags = csp_code_flags(&frames->program->code, from);
    if (!source || !target)
        return;
    if (flags & CSP_CODE_CALL)
        csp_vec_push(&frames->calls, (struct call){from, target->function});
    else if (source != target && may_tail_call(frames->program, from, flags))
        csp_vec_push(&frames->forward.list,
                     (struct jump){from, source->function, target->function});
}

static struct csp_missing_frames *make(const struct csp_program *program, uint32_t deepest)
{
    struct csp_missing_frames *frames = csp_calloc(1, sizeof *frames);
    size_t functions = program->functions.functions.len;
    frames->program = program;
    frames->deepest = deepest;
    frames->passed = csp_calloc(functions + 1, sizeof *frames->passed);
    frames->distance = csp_calloc(functions + 1, sizeof *frames->distance);
    memset(frames->distance, 0xff, functions * sizeof *frames->distance);
    return frames;
}

struct csp_missing_frames *csp_missing_frames_create(const struct csp_program *program,
                                                     const struct csp_counters *counters,
                                                     uint32_t depth)
{
    struct csp_missing_frames *frames = make(program, depth < DEEPEST ? depth : DEEPEST);
    const struct csp_pairs *branches = &counters->branches.spans;
    for (size_t i = 0; i < branches->list.len; i++)
        learn(frames, branches->list.data[i].first, branches->list.data[i].second);
    sort_calls(frames);
    sort_jumps(frames);
    return frames;
}

struct csp_missing_frames *csp_missing_frames_beside(const struct csp_missing_frames *learned)
{
    struct csp_missing_frames *frames = make(learned->program, learned->deepest);
    frames->shared = true;
    frames->calls = learned->calls;
    frames->forward = learned->forward;
    frames->backward = learned->backward;
    return frames;
}

static void reach(struct csp_missing_frames *frames, uint32_t function, uint32_t distance)
{
    if (frames->passed[function] || frames->distance[function] != FAR)
        return;
    frames->distance[function] = distance;
    csp_vec_push(&frames->reached, function);
}

/* Sets the distances to `to` of all functions that lead there without those passed. */
static void measure(struct csp_missing_frames *frames, uint32_t to)
{
    for (size_t i = 0; i < frames->reached.len; i++)
        frames->distance[frames->reached.data[i]] = FAR;
    frames->reached.len = 0;
    reach(frames, to, 0);
    for (size_t i = 0; i < frames->reached.len; i++) {
        uint32_t function = frames->reached.data[i];
        const struct jumps *jumps = &frames->backward;
        for (size_t at = find_jumps(jumps, function, true);
             at < jumps->list.len && jumps->list.data[at].to == function; at++)
            reach(frames, jumps->list.data[at].from, frames->distance[function] + 1);
    }
}

/* Whether a path may go on through `function`, `jumps` jumps after the call. */
static bool leads_on(const struct csp_missing_frames *frames, uint32_t function, uint32_t jumps)
{
    uint32_t distance = frames->distance[function];
    return distance != FAR && distance <= frames->deepest - jumps;
}

/* The only function that a call leads on to; CSP_NO_FUNCTION when there are several, or none. */
static uint32_t only_callee(const struct csp_missing_frames *frames, uint64_t call)
{
    uint32_t only = CSP_NO_FUNCTION;
    for (size_t i = find_call(frames, call);
         i < frames->calls.len && frames->calls.data[i].address == call; i++) {
        if (!leads_on(frames, (uint32_t)frames->calls.data[i].to, 0))
            continue;
        if (only != CSP_NO_FUNCTION)
            return CSP_NO_FUNCTION;
        only = (uint32_t)frames->calls.data[i].to;
    }
    return only;
}

/* The only jump that leads on from a function, or null. */
static const struct jump *only_jump(const struct csp_missing_frames *frames, uint32_t function,
                                    uint32_t jumps)
{
    const struct jump *only = NULL;
    for (size_t i = find_jumps(&frames->forward, function, false);
         i < frames->forward.list.len && frames->forward.list.data[i].from == function; i++) {
        const struct jump *jump = &frames->forward.list.data[i];
        if (!leads_on(frames, jump->to, jumps + 1))
            continue;
        if (only)
            return NULL;
        only = jump;
    }
    return only;
}

/* Stores the jumps of the only path from a call to a function; none when there are
 * several. At each step nothing else may lead on without going through a function twice. */
static void store_path(struct csp_missing_frames *frames, uint64_t call, uint32_t to)
{
    size_t first = frames->stored.len;
    CSP_VEC(uint32_t) passed = {0};
    measure(frames, to);
    uint32_t at = only_callee(frames, call);
    while (at != CSP_NO_FUNCTION && at != to) {
        uint32_t jumps = (uint32_t)passed.len;
        frames->passed[at] = 1;
        csp_vec_push(&passed, at);
        measure(frames, to);
        const struct jump *jump = jumps < frames->deepest ? only_jump(frames, at, jumps) : NULL;
        if (jump)
            csp_vec_push(&frames->stored, jump->address);
        at = jump ? jump->to : CSP_NO_FUNCTION;
    }
    if (at == CSP_NO_FUNCTION)
        frames->stored.len = first;
    for (size_t i = 0; i < passed.len; i++)
        frames->passed[passed.data[i]] = 0;
    csp_vec_free(&passed);
}

/* The jumps, if any, between a call and the function that the next frame is in. */
static struct path find_path(struct csp_missing_frames *frames, uint64_t call, uint64_t next)
{
    struct path path = {(uint32_t)frames->stored.len, 0};
    uint32_t to = csp_functions_at(&frames->program->functions, next);
    if (to == CSP_NO_FUNCTION || calls_directly(frames, call, to))
        return path;
    size_t at = find_jumps(&frames->backward, to, true);
    if (at == frames->backward.list.len || frames->backward.list.data[at].to != to)
        return path;
    store_path(frames, call, to);
    path.len = (uint32_t)frames->stored.len - path.first;
    return path;
}

const uint64_t *csp_missing_frames_between(struct csp_missing_frames *frames, uint64_t call,
                                           uint64_t next, size_t *count)
{
    uint32_t id = csp_pairs_at(&frames->pairs, call, next);
    if (id == frames->paths.len)
        csp_vec_push(&frames->paths, find_path(frames, call, next));
    *count = frames->paths.data[id].len;
    return frames->stored.data + frames->paths.data[id].first;
}

void csp_missing_frames_destroy(struct csp_missing_frames *frames)
{
    if (!frames)
        return;
    if (!frames->shared) {
        csp_vec_free(&frames->calls);
        csp_vec_free(&frames->forward.list);
        csp_vec_free(&frames->backward.list);
    }
    csp_vec_free(&frames->reached);
    csp_vec_free(&frames->stored);
    csp_pairs_free(&frames->pairs);
    csp_vec_free(&frames->paths);
    free(frames->distance);
    free(frames->passed);
    free(frames);
}
