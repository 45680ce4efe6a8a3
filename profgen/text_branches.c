#include "profgen/text_branches.h"

#include "base/alloc.h"

enum { FIRST_SLOTS = 1024 };

static void insert(struct csp_text_branches *branches, uint32_t branch)
{
    uint32_t i = csp_branch_text_hash(&branches->list.data[branch].text);
    while (branches->slots[i & branches->mask])
        i++;
    branches->slots[i & branches->mask] = branch;
}

static void make_slots(struct csp_text_branches *branches, uint32_t count)
{
    free(branches->slots);
    branches->slots = csp_calloc(count, sizeof *branches->slots);
    branches->mask = count - 1;
    for (uint32_t i = 1; i < branches->list.len; i++)
        if (branches->list.data[i].text.length)
            insert(branches, i);
}

void csp_text_branches_begin(struct csp_text_branches *branches)
{
    *branches = (struct csp_text_branches){0};
    /* Its first sixteen bytes are not the last ones. */
    csp_vec_push(&branches->list, (struct csp_text_branch){.text = {.words = {1}, .length = 16}});
    make_slots(branches, FIRST_SLOTS);
}

/* Few slots are taken, so that nearly all branches are where they are first looked for. */
void csp_text_branches_keep(struct csp_text_branches *branches, uint32_t branch, const char *at,
                            const char *end)
{
    struct csp_branch_text *text = &branches->list.data[branch].text;
    const struct csp_branch_text seen = csp_branch_text(at);
    if (text->length || at + seen.length != end + 1)
        return;
    *text = seen;
    if (branches->list.len > branches->mask / 4)
        make_slots(branches, 4 * (branches->mask + 1));
    else
        insert(branches, branch);
}

void csp_text_branches_free(struct csp_text_branches *branches)
{
    csp_pairs_free(&branches->addresses);
    csp_vec_free(&branches->list);
    free(branches->slots);
}
