#include "profgen/result_store.h"

#include "base/messages.h"
#include "cache/store.h"
#include "profgen/llvm/debug_info.h"

#include <string.h>

static const char kind[] = "profiles";

struct head {
    struct csp_profgen_stats stats;
    uint32_t flat, messages;
};

bool csp_result_store_get(struct csp_store *store, const struct csp_run_key *key,
                          struct csp_profgen *gen, struct csp_buf *out, struct csp_diag *diag)
{
    struct csp_store_entry entry;
    struct head head;
    if (key->unknown || !csp_store_get(store, kind, key->text.data, key->text.len, &entry))
        return false;
    bool found = entry.size >= sizeof head;
    if (found)
        memcpy(&head, entry.data, sizeof head);
    const char *messages = (const char *)entry.data + sizeof head;
    found = found && head.messages <= entry.size - sizeof head &&
            csp_messages_again(messages, head.messages, diag);
    if (found) {
        csp_buf_add(out, messages + head.messages, entry.size - sizeof head - head.messages);
        gen->stats = head.stats;
        gen->flat = head.flat;
    } else {
        csp_store_reject(store, kind, key->text.data, key->text.len);
    }
    csp_store_release(&entry);
    return found;
}

void csp_result_store_put(struct csp_store *store, const struct csp_run_key *key,
                          const struct csp_profgen *gen, const struct csp_buf *messages,
                          const struct csp_buf *out)
{
    struct csp_buf entry = {0};
    struct head head;
    if (!store || key->unknown || csp_debug_info_is_split(gen->program.debug))
        return;
    memset(&head, 0, sizeof head);
    head.stats = gen->stats;
    head.flat = gen->flat;
    head.messages = (uint32_t)messages->len;
    csp_buf_add(&entry, &head, sizeof head);
    if (messages->len)
        csp_buf_add(&entry, messages->data, messages->len);
    csp_buf_add(&entry, out->data, out->len);
    csp_store_put(store, kind, key->text.data, key->text.len, entry.data, entry.len);
    csp_buf_free(&entry);
}
