#include "decode/known_chunks.h"

#include "base/alloc.h"
#include "decode/window_memo.h"

#include <stdlib.h>

struct csp_known_chunks {
    struct csp_window_memo *memo;
    struct csp_window_key key;
    struct csp_packet_reader *readers[CSP_TRACE_IDS]; /* that make keys */
    uint64_t code_epoch;                          /* when memo was filled */
};

struct csp_known_chunks *csp_known_chunks_create(const struct csp_source *sources, uint32_t count)
{
    struct csp_known_chunks *known = csp_calloc(1, sizeof *known);
    known->memo = csp_window_memo_create();
    for (uint32_t i = 0; i < count; i++) {
        const struct csp_trace_config *config = &sources[i].config;
        struct csp_packet_reader **reader = &known->readers[config->trace_id % CSP_TRACE_IDS];
        if (*reader)
            continue;
        *reader = csp_calloc(1, sizeof **reader);
        csp_packet_reader_init(*reader, config);
    }
    return known;
}

void csp_known_chunks_destroy(struct csp_known_chunks *known)
{
    if (!known)
        return;
    for (unsigned i = 0; i < CSP_TRACE_IDS; i++)
        free(known->readers[i]);
    csp_window_memo_destroy(known->memo);
    csp_window_key_free(&known->key);
    free(known);
}

bool csp_known_chunks_look(struct csp_known_chunks *known, const struct csp_chunk *chunk,
                           uint64_t code_epoch)
{
    if (!csp_window_memo_wants(known->memo))
        return false;
    if (known->code_epoch != code_epoch)
        csp_window_memo_forget(known->memo);
    known->code_epoch = code_epoch;
    return csp_window_key_make(&known->key, known->readers, chunk->data, chunk->size, chunk->tid);
}

uint8_t csp_known_chunks_id(const struct csp_known_chunks *known)
{
    return known->key.id;
}

bool csp_known_chunks_recall(struct csp_known_chunks *known, uint64_t offset,
                             struct csp_window_builder *builder, bool *learn)
{
    return csp_window_memo_recall(known->memo, &known->key, offset, builder, learn);
}

void csp_known_chunks_learn(struct csp_known_chunks *known,
                            const struct csp_window_builder *builder,
                            const struct csp_window_stats *before)
{
    csp_window_memo_learn(known->memo, &known->key, builder, before);
}
