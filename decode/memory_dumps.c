#include "decode/memory_dumps.h"

#include "base/alloc.h"
#include "base/search.h"

#include <inttypes.h>
#include <stdlib.h>

struct dumps_view {
    struct csp_code_view view;
    const struct csp_memory_dumps *dumps;
    size_t last; /* dump that was used last */
};

void csp_memory_dumps_add(struct csp_memory_dumps *dumps, uint64_t address, const uint8_t *bytes,
                          size_t size)
{
    csp_vec_push(&dumps->list, (struct csp_memory_dump){.address = address,
                                                        .bytes = bytes,
                                                        .size = size,
                                                        .order = (unsigned)dumps->list.len});
}

static int compare_dumps(const void *left, const void *right)
{
    const struct csp_memory_dump *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Sorts the dumps and drops those that another overlaps: cores usually list the same memory. */
void csp_memory_dumps_seal(struct csp_memory_dumps *dumps, const char *folder,
                           struct csp_diag *diag)
{
    struct csp_memory_dump *list = dumps->list.data;
    size_t kept = 0;
    if (dumps->list.len)
        qsort(list, dumps->list.len, sizeof *list, compare_dumps);
    for (size_t i = 0; i < dumps->list.len; i++) {
        struct csp_memory_dump *last = kept ? &list[kept - 1] : NULL;
        if (!last || list[i].address - last->address >= last->size) {
            list[kept++] = list[i];
            continue;
        }
        bool same = list[i].address == last->address && list[i].bytes == last->bytes &&
                    list[i].size == last->size;
        if (!same)
            csp_warn(diag, "%s: memory dumps overlap at 0x%" PRIx64 ": only the first is used",
                     folder, list[i].address);
        if (!same && list[i].order < last->order)
            *last = list[i];
    }
    dumps->list.len = kept;
    for (size_t i = 0; i < kept; i++)
        if (list[i].address % 4 == 0)
            list[i].blocks = csp_block_cache_create(list[i].bytes, list[i].size);
}

/* The dump that holds `address`, or null. */
static const struct csp_memory_dump *find_dump(struct dumps_view *view, uint64_t address)
{
    const struct csp_memory_dump *dumps = view->dumps->list.data;
    size_t count = view->dumps->list.len;
    if (view->last < count && address - dumps[view->last].address < dumps[view->last].size)
        return &dumps[view->last];
    size_t after = csp_upper_bound(dumps, count, address, address);
    if (!after || address - dumps[after - 1].address >= dumps[after - 1].size)
        return NULL;
    view->last = after - 1;
    return &dumps[view->last];
}

static size_t fetch(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                    const uint8_t **bytes)
{
    const struct csp_memory_dump *dump = find_dump(user, address);
    (void)source, (void)context_id;
    if (!dump)
        return 0;
    *bytes = dump->bytes + (address - dump->address);
    return dump->size - (address - dump->address);
}

static bool find(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                 struct csp_code_region *region)
{
    const struct csp_memory_dump *dump = find_dump(user, address);
    (void)source, (void)context_id;
    if (!dump || !dump->blocks)
        return false;
    *region = (struct csp_code_region){.start = dump->address,
                                       .end = dump->address + dump->size,
                                       .base = dump->address,
                                       .blocks = dump->blocks};
    return true;
}

static void close_code(struct csp_code_view *view)
{
    free(view);
}

struct csp_code_view *csp_memory_dumps_open_code(void *dumps, uint32_t stream)
{
    struct dumps_view *view = csp_calloc(1, sizeof *view);
    (void)stream;
    view->dumps = dumps;
    view->view = (struct csp_code_view){.memory = {fetch, find, view, NULL}, .close = close_code};
    return &view->view;
}

void csp_memory_dumps_free(struct csp_memory_dumps *dumps)
{
    for (size_t i = 0; i < dumps->list.len; i++)
        csp_block_cache_destroy(dumps->list.data[i].blocks);
    csp_vec_free(&dumps->list);
}
