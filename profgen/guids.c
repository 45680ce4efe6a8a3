#include "profgen/guids.h"

#include "profgen/llvm/names.h"

#include <stdlib.h>

uint64_t csp_guid_of(struct csp_guids *guids, uint32_t name)
{
    while (guids->known.len <= name)
        csp_vec_push(&guids->known, 0);
    uint64_t *guid = &guids->known.data[name];
    const struct csp_intern_entry *entry = &guids->names->entries.data[name];
    if (!*guid)
        *guid = guids->numbers ? strtoull(entry->data, NULL, 10)
                               : csp_name_guid(entry->data, entry->size);
    return *guid;
}

void csp_guids_free(struct csp_guids *guids)
{
    csp_vec_free(&guids->known);
}
