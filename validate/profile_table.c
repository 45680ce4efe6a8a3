#include "validate/profile_table.h"

#include "profgen/llvm/profile_walk.h"

#include <string.h>

static uint32_t function_of(struct csp_profile_table *table, const struct csp_profile_step *step)
{
    uint32_t id = csp_intern(&table->guids, &step->guid, sizeof step->guid);
    if (id == table->functions.len)
        csp_vec_push(&table->functions, (struct csp_profile_function){.guid = step->guid});
    struct csp_profile_function *function = &table->functions.data[id];
    if (!function->name && step->name) {
        char *name = csp_arena_alloc(&table->names, step->name_length + 1);
        memcpy(name, step->name, step->name_length);
        name[step->name_length] = '\0';
        function->name = name;
    }
    return id;
}

static uint64_t add_blocks(struct csp_profile_table *table, uint64_t guid,
                           const struct csp_profile_entry *entry)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < entry->place_len; i++) {
        const struct csp_profile_place *place = &entry->places[i];
        const struct csp_block_key key = {guid, place->probe, place->discriminator};
        uint32_t id = csp_intern(&table->blocks, &key, sizeof key);
        if (id == table->block_counts.len)
            csp_vec_push(&table->block_counts, 0);
        table->block_counts.data[id] += place->count;
        sum += place->count;
    }
    return sum;
}

static void count_context(struct csp_profile_table *table, const void *steps, size_t size,
                          uint64_t count)
{
    uint32_t id = csp_intern(&table->contexts, steps, size);
    if (id == table->context_counts.len)
        csp_vec_push(&table->context_counts, 0);
    table->context_counts.data[id] += count;
}

static void add_context(struct csp_profile_table *table, const struct csp_profile_entry *entry,
                        uint64_t count)
{
    struct csp_buf key = {0};
    for (size_t i = 0; i < entry->path_len; i++) {
        const struct csp_profile_step *step = &entry->path[i];
        const struct csp_context_step kept = {step->guid, step->callsite, step->discriminator};
        csp_buf_add(&key, &kept, sizeof kept);
    }
    count_context(table, key.data, key.len, count);
    csp_buf_free(&key);
}

static void add_entry(void *user, const struct csp_profile_entry *entry)
{
    struct csp_profile_table *table = user;
    uint32_t id = CSP_INTERN_NONE;
    for (size_t i = 0; i < entry->path_len; i++)
        id = function_of(table, &entry->path[i]);
    if (id == CSP_INTERN_NONE)
        return;
    uint64_t count = add_blocks(table, table->functions.data[id].guid, entry);
    add_context(table, entry, count);
    if (!table->functions.data[id].hash)
        table->functions.data[id].hash = entry->hash;
    table->functions.data[id].count += count;
    table->total += count;
}

void csp_profile_table_add(struct csp_profile_table *table, const struct csp_profile *profile)
{
    table->by_lines = csp_profile_is_by_lines(profile);
    csp_profile_walk(profile, add_entry, table);
}

int csp_profile_table_read(struct csp_profile_table *table, const char *path, struct csp_diag *diag)
{
    struct csp_profile *profile;
    int error = csp_profile_read(&profile, path, diag);
    if (error)
        return error;
    csp_profile_table_add(table, profile);
    csp_profile_free(profile);
    if (!table->total)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: the profile is empty: no count in it is above 0",
                        path);
    return 0;
}

void csp_profile_table_cut_contexts(struct csp_profile_table *table, size_t callers)
{
    struct csp_profile_table old = *table;
    table->contexts = (struct csp_intern){0};
    table->context_counts.data = NULL;
    table->context_counts.len = table->context_counts.cap = 0;
    for (size_t i = 0; i < old.contexts.entries.len; i++) {
        const struct csp_intern_entry *entry = &old.contexts.entries.data[i];
        struct csp_buf steps = {0};
        csp_buf_add(&steps, entry->data, entry->size);
        size_t len = entry->size / sizeof(struct csp_context_step);
        struct csp_context_step *first = (struct csp_context_step *)steps.data;
        if (len > callers + 1) {
            first += len - (callers + 1);
            len = callers + 1;
        }
        first->callsite = first->discriminator = 0;
        count_context(table, first, len * sizeof *first, old.context_counts.data[i]);
        csp_buf_free(&steps);
    }
    csp_intern_free(&old.contexts);
    csp_vec_free(&old.context_counts);
}

void csp_profile_table_free(struct csp_profile_table *table)
{
    csp_intern_free(&table->guids);
    csp_vec_free(&table->functions);
    csp_intern_free(&table->blocks);
    csp_vec_free(&table->block_counts);
    csp_intern_free(&table->contexts);
    csp_vec_free(&table->context_counts);
    csp_arena_free(&table->names);
}

uint32_t csp_profile_table_function(const struct csp_profile_table *table, uint64_t guid)
{
    return csp_intern_find(&table->guids, &guid, sizeof guid);
}

void csp_profile_table_name(const struct csp_profile_table *table,
                            const struct csp_profile_table *other, uint64_t guid,
                            struct csp_buf *out)
{
    const struct csp_profile_table *tables[] = {table, other};
    for (int i = 0; i < 2; i++) {
        uint32_t id = tables[i] ? csp_profile_table_function(tables[i], guid) : CSP_INTERN_NONE;
        if (id != CSP_INTERN_NONE && tables[i]->functions.data[id].name) {
            csp_buf_add_string(out, tables[i]->functions.data[id].name);
            return;
        }
    }
    csp_buf_add_decimal(out, guid);
}
