#include "validate/spe_table.h"

#include <string.h>

struct filler {
    struct csp_spe_table *table;
    struct csp_recording *recording;
};

static void count_source(struct csp_spe_place *place, uint16_t source)
{
    size_t i = 0;
    while (i < place->sources.len && place->sources.data[i].source != source)
        i++;
    if (i == place->sources.len)
        csp_vec_push(&place->sources, (struct csp_spe_source){.source = source});
    place->sources.data[i].count++;
}

static void count_record(struct csp_spe_place *place, const struct csp_spe_record *record)
{
    for (int i = 0; i < CSP_SPE_COUNTERS; i++) {
        if (!csp_spe_has_counter(record, (enum csp_spe_counter)i))
            continue;
        place->latency[i] += record->counters[i];
        place->latency_count[i]++;
    }
    for (int i = 0; i < CSP_SPE_NAMED_EVENTS; i++)
        place->events[i] += record->events >> i & 1;
    place->operations[record->operation]++;
    if (record->has_data_source)
        count_source(place, record->data_source);
}

/* The process: of the thread that the record names, else of the AUX record. */
static uint32_t process_of(const struct filler *filler, const struct csp_aux_fragment *fragment,
                           const struct csp_spe_record *record)
{
    if (record->has_context && record->context)
        return csp_recording_pid(filler->recording, record->context);
    return fragment->pid;
}

static void take_record(struct filler *filler, const struct csp_aux_fragment *fragment,
                        const struct csp_spe_record *record)
{
    struct csp_spe_table *table = filler->table;
    struct csp_location location;
    if (!csp_spe_has_address(record, CSP_SPE_PC)) {
        table->without_pc++;
        return;
    }
    if (record->el) {
        table->kernel++;
        return;
    }
    uint32_t pid = process_of(filler, fragment, record);
    if (!csp_recording_locate(filler->recording, pid, fragment->time, record->addresses[CSP_SPE_PC],
                              &location)) {
        table->elsewhere++;
        return;
    }
    const char *file =
        csp_spaces_binary(csp_recording_spaces(filler->recording), location.binary)->path;
    uint32_t id = csp_places_add(&table->places, file, location.address);
    if (id == table->data.len)
        csp_vec_push(&table->data, (struct csp_spe_place){0});
    table->places.counts.data[id]++;
    table->places.total++;
    count_record(&table->data.data[id], record);
}

/* Records do not go from one AUX record to the next: the driver ends a buffer at a whole one. */
static void take_fragment(struct filler *filler, const struct csp_auxtrace *aux,
                          const struct csp_aux_fragment *fragment)
{
    struct csp_buf bytes = {0};
    for (uint32_t i = 0; i < csp_aux_piece_count(fragment); i++) {
        const struct csp_aux_piece piece = csp_aux_piece(aux, fragment, i);
        csp_buf_add(&bytes, piece.data, piece.size);
    }
    struct csp_spe_reader reader = {.data = (const uint8_t *)bytes.data,
                                    .size = bytes.len,
                                    .position = fragment->aux_offset,
                                    .stats = filler->table->stats};
    struct csp_spe_record record;
    while (csp_spe_next(&reader, &record))
        take_record(filler, fragment, &record);
    filler->table->stats = reader.stats;
    filler->table->collisions += (fragment->flags & CSP_AUX_COLLISION) != 0;
    csp_buf_free(&bytes);
}

int csp_spe_table_read(struct csp_spe_table *table, const char *path, const char *symfs,
                       struct csp_diag *diag)
{
    const struct csp_image_options images = {.symfs = symfs};
    struct csp_recording *recording = NULL;
    int error = csp_recording_open(&recording, path, &images, 1, diag);
    if (error)
        return error;
    const struct csp_auxtrace *aux = csp_recording_auxtrace(recording);
    struct filler filler = {.table = table, .recording = recording};
    if (aux->type == CSP_AUXTRACE_ARM_SPE)
        for (size_t i = 0; i < aux->fragments.len; i++)
            take_fragment(&filler, aux, &aux->fragments.data[i]);
    if (!table->stats.records)
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s has no SPE records: record some with `perf record -e arm_spe_0// -- "
                         "PROGRAM`, on a core that has them",
                         path);
    csp_recording_close(recording);
    return error;
}

void csp_spe_table_free(struct csp_spe_table *table)
{
    for (size_t i = 0; i < table->data.len; i++)
        csp_vec_free(&table->data.data[i].sources);
    csp_vec_free(&table->data);
    csp_places_free(&table->places);
}

double csp_spe_mean(const struct csp_spe_place *place, enum csp_spe_counter which)
{
    uint64_t count = place->latency_count[which];
    return count ? (double)place->latency[which] / (double)count : 0;
}
