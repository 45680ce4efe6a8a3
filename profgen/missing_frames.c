#include "profgen/missing_frames.h"

#include "base/alloc.h"
#include "profgen/llvm/machine.h"

#include <string.h>

enum { DEEPEST = 1000 };

/* A call or a jump at `key` into the function `function`; or the other way round. */
struct edge {
    uint64_t key;
    uint64_t value;
};

struct edges {
    CSP_VEC(struct edge) list;
};

struct csp_missing_frames {
    const struct csp_program *program;
    uint32_t deepest, depth;
    struct edges calls;      /* call address to function called */
    struct edges tail_calls; /* jump address to function jumped to */
    struct edges jumps;      /* function to the tail calls in it */
    struct csp_map targets;  /* functions that are tail-called */
    struct csp_map visiting; /* functions on the path being searched */
    struct csp_map known;    /* (from, to) to number of paths: 0, 1 (then see `paths`) or more */
    struct csp_map paths;    /* (from, to) to first and length in `stored` */
    CSP_VEC(uint64_t) stored, result;
};

static int by_edge(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void sort_edges(struct edges *edges)
{
    size_t kept = 0;
    if (edges->list.len)
        qsort(edges->list.data, edges->list.len, sizeof *edges->list.data, by_edge);
    for (size_t i = 0; i < edges->list.len; i++)
        if (!kept || by_edge(&edges->list.data[i], &edges->list.data[kept - 1]) != 0)
            edges->list.data[kept++] = edges->list.data[i];
    edges->list.len = kept;
}

static size_t find_edges(const struct edges *edges, uint64_t key)
{
    size_t low = 0, high = edges->list.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges->list.data[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_edge(const struct edges *edges, uint64_t key, uint64_t value)
{
    struct edge wanted = {key, value};
    return edges->list.len &&
           bsearch(&wanted, edges->list.data, edges->list.len, sizeof wanted, by_edge);
}

/* Whether the jump at an address may be a tail call: it leads to another function, or anywhere. */
static bool may_tail_call(const struct csp_program *program, uint64_t address, uint8_t flags)
{
    if (!(flags & CSP_CODE_BRANCH) || !(flags & CSP_CODE_ALWAYS))
        return false;
    if (flags & CSP_CODE_INDIRECT)
        return true;
    const struct csp_code_section *section = csp_code_section(&program->code, address);
    struct csp_insn insn;
    if (!csp_machine_decode(program->machine, section->bytes + (address - section->start),
                            section->end - address, address, &insn) ||
        !insn.has_target)
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
    if (flags & CSP_CODE_CALL) {
        csp_vec_push(&frames->calls.list, (struct edge){from, target->function});
    } else if (source != target && may_tail_call(frames->program, from, flags)) {
        csp_vec_push(&frames->tail_calls.list, (struct edge){from, target->function});
        csp_vec_push(&frames->jumps.list, (struct edge){source->function, from});
        *csp_map_at(&frames->targets, target->function) = 1;
    }
}

struct csp_missing_frames *csp_missing_frames_create(const struct csp_program *program,
                                                     const struct csp_counters *counters,
                                                     uint32_t depth)
{
    struct csp_missing_frames *frames = csp_calloc(1, sizeof *frames);
    frames->program = program;
    frames->deepest = depth < DEEPEST ? depth : DEEPEST;
    for (size_t i = 0; i < counters->branches.counts.len; i++) {
        const struct csp_counter_key *key = counters->branches.keys.entries.data[i].data;
        learn(frames, key->from, key->to);
    }
    sort_edges(&frames->calls);
    sort_edges(&frames->tail_calls);
    sort_edges(&frames->jumps);
    return frames;
}

static uint64_t count_paths(struct csp_missing_frames *frames, uint32_t from, uint32_t to);

/* Paths to `to` through the jump at an address; a single one is appended to the result. */
static uint64_t count_paths_through(struct csp_missing_frames *frames, uint64_t jump, uint32_t to)
{
    size_t length = frames->result.len;
    uint64_t paths = 0;
    csp_vec_push(&frames->result, jump);
    for (size_t i = find_edges(&frames->tail_calls, jump);
         paths <= 1 && i < frames->tail_calls.list.len &&
         frames->tail_calls.list.data[i].key == jump;
         i++)
        paths += count_paths(frames, (uint32_t)frames->tail_calls.list.data[i].value, to);
    if (paths != 1)
        frames->result.len = length;
    return paths;
}

static void remember(struct csp_missing_frames *frames, uint64_t key, uint64_t paths, size_t first)
{
    *csp_map_at(&frames->known, key) = paths;
    if (paths != 1)
        return;
    size_t length = frames->result.len - first;
    *csp_map_at(&frames->paths, key) = (uint64_t)frames->stored.len << 32 | length;
    for (size_t i = 0; i < length; i++)
        csp_vec_push(&frames->stored, frames->result.data[first + i]);
}

static void append_stored(struct csp_missing_frames *frames, uint64_t where)
{
    for (uint64_t i = where >> 32, end = i + (uint32_t)where; i < end; i++)
        csp_vec_push(&frames->result, frames->stored.data[i]);
}

static uint64_t count_paths(struct csp_missing_frames *frames, uint32_t from, uint32_t to)
{
    if (from == to)
        return 1;
    /* A cycle is no path of its own. This goes before what is known, which may be of this path. */
    if (*csp_map_at(&frames->visiting, from))
        return 0;
    uint64_t key = (uint64_t)from << 32 | to;
    const uint64_t *known = csp_map_find(&frames->known, key);
    if (known) {
        if (*known == 1)
            append_stored(frames, *csp_map_at(&frames->paths, key));
        return *known;
    }
    size_t i = find_edges(&frames->jumps, from);
    if (frames->depth == frames->deepest || i == frames->jumps.list.len ||
        frames->jumps.list.data[i].key != from)
        return 0;
    size_t first = frames->result.len;
    uint64_t paths = 0;
    frames->depth++;
    *csp_map_at(&frames->visiting, from) = 1;
    for (; paths <= 1 && i < frames->jumps.list.len && frames->jumps.list.data[i].key == from; i++)
        paths += count_paths_through(frames, frames->jumps.list.data[i].value, to);
    frames->depth--;
    *csp_map_at(&frames->visiting, from) = 0;
    if (paths != 1)
        frames->result.len = first;
    remember(frames, key, paths, first);
    return paths;
}

/* Appends the jumps, if any, between a call and the function that the next frame is in. */
static void infer_between(struct csp_missing_frames *frames, uint64_t call, uint64_t next)
{
    csp_vec_push(&frames->result, call);
    uint32_t to = csp_functions_at(&frames->program->functions, next);
    if (to == CSP_NO_FUNCTION || has_edge(&frames->calls, call, to) ||
        !csp_map_find(&frames->targets, to))
        return;
    size_t first = frames->result.len;
    uint64_t paths = 0;
    frames->depth = 0;
    for (size_t i = find_edges(&frames->calls, call);
         paths <= 1 && i < frames->calls.list.len && frames->calls.list.data[i].key == call; i++)
        paths += count_paths(frames, (uint32_t)frames->calls.list.data[i].value, to);
    if (paths != 1)
        frames->result.len = first;
}

const uint64_t *csp_missing_frames_infer(struct csp_missing_frames *frames, const uint64_t *path,
                                         size_t count, size_t *result_count)
{
    frames->result.len = 0;
    for (size_t i = 0; i + 1 < count; i++)
        infer_between(frames, path[i], path[i + 1]);
    if (count)
        csp_vec_push(&frames->result, path[count - 1]);
    *result_count = frames->result.len;
    return frames->result.data;
}

void csp_missing_frames_destroy(struct csp_missing_frames *frames)
{
    if (!frames)
        return;
    csp_vec_free(&frames->calls.list);
    csp_vec_free(&frames->tail_calls.list);
    csp_vec_free(&frames->jumps.list);
    csp_vec_free(&frames->stored);
    csp_vec_free(&frames->result);
    csp_map_free(&frames->targets);
    csp_map_free(&frames->visiting);
    csp_map_free(&frames->known);
    csp_map_free(&frames->paths);
    free(frames);
}
