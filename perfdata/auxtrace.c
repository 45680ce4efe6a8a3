#include "base/big_vec.h"
#include "base/counted.h"
#include "perfdata/auxtrace_private.h"

#include <inttypes.h>
#include <stdlib.h>

static int add_info(struct csp_auxtrace *aux, const struct csp_record *record,
                    struct csp_diag *diag)
{
    const uint8_t *words;
    size_t word_count;
    if (aux->has_info || !csp_record_auxtrace_info(record, &aux->type, &words, &word_count)) {
        aux->malformed++;
        return 0;
    }
    aux->has_info = true;
    if (aux->type != CSP_AUXTRACE_CS_ETM)
        return 0;
    return csp_cs_etm_info_parse(&aux->cs_etm, record, aux->path, diag);
}

static void add_chunk(struct csp_auxtrace *aux, const struct csp_record *record)
{
    struct csp_auxtrace_event event;
    if (!csp_record_auxtrace(record, &event) || event.aux_offset > UINT64_MAX - event.size) {
        aux->malformed++;
        return;
    }
    aux->stored_bytes += event.size;
    csp_big_vec_push(&aux->chunks, (struct csp_aux_chunk){
                                       .data = record->payload,
                                       .aux_offset = event.aux_offset,
                                       .size = event.size,
                                       .ordinal = record->ordinal,
                                       .idx = event.idx,
                                       .cpu = event.cpu,
                                       .tid = event.tid,
                                   });
}

static void add_fragment(struct csp_auxtrace *aux, const struct csp_record *record)
{
    struct csp_aux_event event;
    if (!csp_record_aux(record, &event) || event.aux_offset > UINT64_MAX - event.aux_size) {
        aux->malformed++;
        return;
    }
    size_t count = aux->fragments.len;
    aux->is_disordered |= count && aux->fragments.data[count - 1].ordinal > record->ordinal;
    csp_big_vec_push(&aux->fragments,
                     (struct csp_aux_fragment){
                         .cpu = record->cpu,
                         .pid = record->pid,
                         .tid = record->tid,
                         .time = record->time,
                         .id = record->id,
                         .aux_offset = event.aux_offset,
                         .aux_size = event.aux_size,
                         .flags = (uint16_t)event.flags,
                         .raw = (event.flags & CSP_AUX_FORMAT_MASK) == CSP_AUX_FORMAT_RAW,
                         .ordinal = record->ordinal,
                     });
}

static void add_loss(struct csp_auxtrace *aux, const struct csp_record *record)
{
    csp_vec_push(&aux->losses, (struct csp_aux_fragment){.cpu = record->cpu,
                                                         .tid = record->tid,
                                                         .id = record->id,
                                                         .ordinal = record->ordinal});
}

static void add_hw_id(struct csp_auxtrace *aux, const struct csp_record *record)
{
    struct csp_hw_id_event event;
    if (!csp_record_hw_id(record, &event) || event.major) {
        aux->malformed++;
        return;
    }
    csp_vec_push(&aux->hw_ids, (struct csp_aux_hw_id){event, record->cpu, record->ordinal});
}

static __attribute__((noinline)) int
add_other(struct csp_auxtrace *aux, const struct csp_record *record, struct csp_diag *diag)
{
    struct csp_id_index_event entry;
    switch (record->type) {
    case CSP_RECORD_AUXTRACE_INFO:
        return add_info(aux, record, diag);
    case CSP_RECORD_AUXTRACE:
        add_chunk(aux, record);
        break;
    case CSP_RECORD_LOST:
        add_loss(aux, record);
        break;
    case CSP_RECORD_AUX_OUTPUT_HW_ID:
        add_hw_id(aux, record);
        break;
    case CSP_RECORD_ID_INDEX:
        for (size_t i = 0; csp_record_id_index(record, i, &entry); i++)
            *csp_map_at(&aux->idx_of_id, entry.id) = (uint64_t)entry.idx + 1;
        break;
    default:
        break;
    }
    return 0;
}

int csp_auxtrace_add(struct csp_auxtrace *aux, const struct csp_record *record,
                     struct csp_diag *diag)
{
    if (record->type != CSP_RECORD_AUX)
        return add_other(aux, record, diag);
    add_fragment(aux, record);
    return 0;
}

void csp_auxtrace_append(struct csp_auxtrace *aux, struct csp_auxtrace *more)
{
    size_t count = aux->fragments.len;
    aux->is_disordered |= more->is_disordered;
    if (count && more->fragments.len)
        aux->is_disordered |=
            aux->fragments.data[count - 1].ordinal > more->fragments.data[0].ordinal;
    csp_big_vec_append(&aux->fragments, &more->fragments);
    csp_big_vec_append(&aux->chunks, &more->chunks);
    aux->stored_bytes += more->stored_bytes;
    aux->malformed += more->malformed;
    more->stored_bytes = more->malformed = 0;
    more->is_disordered = false;
}

static int by_ordinal(const void *left, const void *right)
{
    const struct csp_aux_hw_id *a = left, *b = right;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static void apply_hw_ids(struct csp_auxtrace *aux)
{
    if (aux->hw_ids.len)
        qsort(aux->hw_ids.data, aux->hw_ids.len, sizeof *aux->hw_ids.data, by_ordinal);
    for (size_t i = 0; i < aux->hw_ids.len; i++)
        aux->hw_id_unknown_cpu += !csp_cs_etm_info_hw_id(&aux->cs_etm, aux->hw_ids.data[i].cpu,
                                                         &aux->hw_ids.data[i].event);
}

static void tell(const struct csp_auxtrace *aux, struct csp_diag *diag)
{
    const char *path = aux->path ? aux->path : "recording";
    if (aux->missing_bytes)
        csp_warn(diag,
                 "%s: AUX records announce %s of trace and %" PRIu64
                 " of them are not in the file (of %" PRIu64
                 " records nothing is); they were lost when it was recorded or copied",
                 path, CSP_COUNTED(aux->announced_bytes, "byte"), aux->missing_bytes,
                 aux->missing_fragments);
    if (aux->unannounced_bytes)
        csp_note(diag, "%s: %s of trace %s not announced by any AUX record and %s not used", path,
                 CSP_COUNTED(aux->unannounced_bytes, "byte"),
                 csp_by_count(aux->unannounced_bytes, "is", "are"),
                 csp_by_count(aux->unannounced_bytes, "was", "were"));
    if (aux->malformed)
        csp_warn(diag, "%s: %s about trace %s malformed and %s not used", path,
                 CSP_COUNTED(aux->malformed, "record"), csp_by_count(aux->malformed, "is", "are"),
                 csp_by_count(aux->malformed, "was", "were"));
    if (aux->hw_id_unknown_cpu)
        csp_warn(diag,
                 "%s: %" PRIu64
                 " AUX_OUTPUT_HW_ID records are of CPUs that AUXTRACE_INFO does not describe",
                 path, aux->hw_id_unknown_cpu);
}

void csp_auxtrace_finish(struct csp_auxtrace *aux, struct csp_diag *diag)
{
    csp_auxtrace_join(aux);
    apply_hw_ids(aux);
    tell(aux, diag);
}

uint64_t csp_auxtrace_found(const struct csp_auxtrace *aux, const struct csp_aux_fragment *fragment)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < csp_aux_piece_count(fragment); i++)
        found += csp_aux_piece(aux, fragment, i).size;
    return found;
}

void csp_auxtrace_forget(struct csp_auxtrace *aux)
{
    for (size_t i = 0; i < aux->queues.len; i++)
        aux->queues.data[i].fragment_count = 0;
    csp_big_vec_free(&aux->fragments);
    csp_big_vec_free(&aux->pieces);
    csp_big_vec_free(&aux->chunks);
}

void csp_auxtrace_free(struct csp_auxtrace *aux)
{
    csp_cs_etm_info_free(&aux->cs_etm);
    csp_auxtrace_forget(aux);
    csp_vec_free(&aux->queues);
    csp_vec_free(&aux->hw_ids);
    csp_vec_free(&aux->losses);
    csp_map_free(&aux->idx_of_id);
    *aux = (struct csp_auxtrace){0};
}
