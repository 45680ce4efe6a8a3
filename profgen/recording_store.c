#include "profgen/recording_store.h"

#include "base/messages.h"
#include "cache/store.h"
#include "profgen/llvm/debug_info.h"

#include <string.h>

static const char kind[] = "aggregates";

bool csp_recording_store_key(const struct csp_profgen *gen, struct csp_recording *recording,
                             struct csp_run_key *key)
{
    *key = (struct csp_run_key){0};
    if (!gen->options.store || csp_debug_info_is_split(gen->program.debug))
        return false;
    const struct csp_program_options program = csp_profgen_program_options(&gen->options);
    csp_run_key_begin(key, "aggregate 1");
    csp_run_key_program(key, &program);
    csp_run_key_recording(key, recording);
    return !key->unknown;
}

bool csp_recording_store_get(const struct csp_profgen *gen, const struct csp_run_key *key,
                             struct csp_aggregate *aggregate, struct csp_diag *diag)
{
    struct csp_store *store = gen->options.store;
    struct csp_store_entry entry;
    uint32_t told = 0;
    *aggregate = csp_aggregate_empty();
    if (!csp_store_get(store, kind, key->text.data, key->text.len, &entry))
        return false;
    if (entry.size >= sizeof told)
        memcpy(&told, entry.data, sizeof told);
    const char *messages = (const char *)entry.data + sizeof told;
    bool found = entry.size >= sizeof told && told <= entry.size - sizeof told &&
                 !csp_aggregate_parse(aggregate, messages + told, entry.size - sizeof told - told,
                                      kind, NULL, NULL) &&
                 csp_messages_again(messages, told, diag);
    if (!found)
        csp_store_reject(store, kind, key->text.data, key->text.len);
    csp_store_release(&entry);
    return found;
}

void csp_recording_store_put(const struct csp_profgen *gen, const struct csp_run_key *key,
                             struct csp_aggregate *aggregate, const struct csp_buf *messages)
{
    struct csp_buf entry = {0};
    csp_buf_add_u32(&entry, (uint32_t)messages->len);
    if (messages->len)
        csp_buf_add(&entry, messages->data, messages->len);
    csp_aggregate_write(aggregate, NULL, &entry);
    csp_store_put(gen->options.store, kind, key->text.data, key->text.len, entry.data, entry.len);
    csp_buf_free(&entry);
}
