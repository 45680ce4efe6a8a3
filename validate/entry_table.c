#include "validate/entry_table.h"

#include "base/saturate.h"
#include "profgen/llvm/instr_profile.h"
#include "profgen/llvm/names.h"

#include <string.h>

enum { ENTRY_PROBE = 1 };

static const char *keep(struct csp_profile_table *table, const char *name, size_t length)
{
    if (!name)
        return NULL;
    char *kept = csp_arena_alloc(&table->names, length + 1);
    memcpy(kept, name, length);
    kept[length] = '\0';
    return kept;
}

static void add(struct csp_profile_table *table, uint64_t guid, const char *name, size_t length,
                uint64_t count)
{
    uint32_t function = csp_intern(&table->guids, &guid, sizeof guid);
    if (function == table->functions.len)
        csp_vec_push(&table->functions, (struct csp_profile_function){
                                            .guid = guid, .name = keep(table, name, length)});
    const struct csp_block_key key = {guid, ENTRY_PROBE, 0};
    uint32_t block = csp_intern(&table->blocks, &key, sizeof key);
    if (block == table->block_counts.len)
        csp_vec_push(&table->block_counts, 0);
    uint64_t *counts[] = {&table->functions.data[function].count, &table->block_counts.data[block],
                          &table->total};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = csp_add_saturating(*counts[i], count);
}

static void add_entry(void *user, const char *name, size_t length, uint64_t entries)
{
    add(user, csp_name_guid(name, length), name, length, entries);
}

int csp_entry_table_read(struct csp_profile_table *entries, const char *path, struct csp_diag *diag)
{
    return csp_instr_profile_entries(path, add_entry, entries, diag);
}

int csp_entry_table_of(struct csp_profile_table *entries, const struct csp_profile_table *profile,
                       const char *path, struct csp_diag *diag)
{
    if (profile->by_lines)
        return csp_fail(
            diag, CSP_ERR_INPUT,
            "%s is by lines, which do not tell how often functions were entered: give a "
            "profile by pseudo-probes",
            path);
    for (size_t i = 0; i < profile->functions.len; i++) {
        const struct csp_profile_function *function = &profile->functions.data[i];
        const struct csp_block_key key = {function->guid, ENTRY_PROBE, 0};
        uint32_t block = csp_intern_find(&profile->blocks, &key, sizeof key);
        if (block != CSP_INTERN_NONE)
            add(entries, function->guid, function->name,
                function->name ? strlen(function->name) : 0, profile->block_counts.data[block]);
    }
    return 0;
}
