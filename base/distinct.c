#include "base/distinct.h"

static bool is_kept(const struct csp_distinct *distinct, uint64_t value)
{
    return !(value & ((UINT64_C(1) << distinct->skipped_bits) - 1));
}

/* Keeps half as many. */
static void thin_out(struct csp_distinct *distinct)
{
    struct csp_map all = distinct->kept;
    struct csp_map_entry *entry;
    size_t cursor = 0;
    distinct->kept = (struct csp_map){0};
    distinct->skipped_bits++;
    while ((entry = csp_map_next(&all, &cursor)))
        if (is_kept(distinct, entry->key))
            csp_map_at(&distinct->kept, entry->key);
    csp_map_free(&all);
}

void csp_distinct_add(struct csp_distinct *distinct, uint64_t value)
{
    if (!is_kept(distinct, value))
        return;
    csp_map_at(&distinct->kept, value);
    while (distinct->kept.len > CSP_DISTINCT_MAX)
        thin_out(distinct);
}

uint64_t csp_distinct_count(const struct csp_distinct *distinct)
{
    return (uint64_t)distinct->kept.len << distinct->skipped_bits;
}

void csp_distinct_free(struct csp_distinct *distinct)
{
    csp_map_free(&distinct->kept);
}
