#include "base/counted.h"
#include "validate/spe_table.h"

#include <stdlib.h>
#include <string.h>

/* An instruction that was sampled, that SPE has, or both. */
struct row {
    const char *file;
    uint64_t address;
    uint64_t samples, records;
    const struct csp_spe_place *spe; /* null: SPE has it not */
    double weight;                   /* the larger of the two shares */
};

typedef CSP_VEC(struct row) rows;

static double share(uint64_t count, uint64_t total)
{
    return total ? (double)count / (double)total : 0;
}

static int heaviest_first(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    int order = strcmp(a->file, b->file);
    return order ? order : (a->address > b->address) - (a->address < b->address);
}

static void push(rows *all, struct row row, const struct csp_spe_table *table,
                 const struct csp_places *samples)
{
    double first = share(row.samples, samples->total);
    double second = share(row.records, table->places.total);
    row.weight = first > second ? first : second;
    csp_vec_push(all, row);
}

static rows make_rows(const struct csp_spe_table *table, const struct csp_places *samples)
{
    rows all = {0};
    for (uint32_t i = 0; i < table->data.len; i++) {
        struct row row = {csp_places_file(&table->places, i),
                          csp_places_at(&table->places, i)->address,
                          0,
                          table->places.counts.data[i],
                          &table->data.data[i],
                          0};
        uint32_t other = csp_places_find(samples, row.file, row.address);
        row.samples = other == CSP_INTERN_NONE ? 0 : samples->counts.data[other];
        push(&all, row, table, samples);
    }
    for (uint32_t i = 0; i < samples->counts.len; i++) {
        struct row row = {csp_places_file(samples, i),
                          csp_places_at(samples, i)->address,
                          samples->counts.data[i],
                          0,
                          NULL,
                          0};
        if (csp_places_find(&table->places, row.file, row.address) == CSP_INTERN_NONE)
            push(&all, row, table, samples);
    }
    if (all.len)
        qsort(all.data, all.len, sizeof *all.data, heaviest_first);
    return all;
}

/* What an operation cost, added up: nearer to time than the number of operations. */
static double total_latency(const struct csp_spe_table *table)
{
    double sum = 0;
    for (size_t i = 0; i < table->data.len; i++)
        sum += (double)table->data.data[i].latency[CSP_SPE_TOTAL_LATENCY];
    return sum;
}

static const char *main_operation(const struct csp_spe_place *place)
{
    int best = 0;
    for (int i = 1; i <= CSP_SPE_UNTOLD; i++)
        if (place->operations[i] > place->operations[best])
            best = i;
    return csp_spe_operation_names[best];
}

static void text_row(const struct row *row, const struct csp_spe_table *table,
                     const struct csp_places *samples, double latency, struct csp_buf *out)
{
    csp_buf_printf(out, "%8.2f%% %8.2f%% ", 100 * share(row->samples, samples->total),
                   100 * share(row->records, table->places.total));
    if (row->spe)
        csp_buf_printf(
            out, "%8.2f%% %9.1f %7.1f%% %-7s",
            latency > 0 ? 100 * (double)row->spe->latency[CSP_SPE_TOTAL_LATENCY] / latency : 0,
            csp_spe_mean(row->spe, CSP_SPE_TOTAL_LATENCY),
            100 * share(row->spe->events[CSP_SPE_L1D_REFILL], row->records),
            main_operation(row->spe));
    else
        csp_buf_printf(out, "%8s  %9s %8s %-7s", "-", "-", "-", "-");
    csp_buf_printf(out, " %s+0x%llx\n", row->file, (unsigned long long)row->address);
}

void csp_spe_table_text(const struct csp_spe_table *table, const struct csp_places *samples,
                        size_t most, struct csp_buf *out)
{
    const struct csp_spe_stats *stats = &table->stats;
    rows all = make_rows(table, samples);
    double latency = total_latency(table);
    csp_buf_printf(out,
                   "%s: %llu in user code that is known, %llu in the kernel, %llu "
                   "elsewhere, %llu without address; %s, %s dropped\n",
                   CSP_COUNTED(stats->records, "SPE record"),
                   (unsigned long long)table->places.total, (unsigned long long)table->kernel,
                   (unsigned long long)table->elsewhere, (unsigned long long)table->without_pc,
                   CSP_COUNTED(stats->bad_packets, "bad packet"),
                   CSP_COUNTED(stats->dropped + stats->left, "byte"));
    if (table->collisions)
        csp_buf_printf(out, "%s records collided and were lost: the period was too short\n",
                       CSP_COUNTED(table->collisions, "time"));
    csp_buf_add_string(
        out,
        "\nSPE samples operations, whatever they cost; an interrupt samples time, and is taken\n"
        "late. The two differ even where both are right: compare the samples with SPE's latency,\n"
        "which is what its operations cost, added up.\n"
        "\n  samples   records   latency    cycles  L1 miss kind    instruction\n");
    for (size_t i = 0; i < all.len && i < most; i++)
        text_row(&all.data[i], table, samples, latency, out);
    csp_vec_free(&all);
}

static void json_place(const struct csp_spe_place *place, struct csp_json *json)
{
    static const char *const latencies[CSP_SPE_COUNTERS] = {"total_latency", "issue_latency",
                                                            "translation_latency"};
    for (int i = 0; i < CSP_SPE_COUNTERS; i++)
        csp_json_real(json, latencies[i], csp_spe_mean(place, (enum csp_spe_counter)i));
    csp_json_object(json, "events");
    for (int i = 0; i < CSP_SPE_NAMED_EVENTS; i++)
        csp_json_number(json, csp_spe_event_names[i], place->events[i]);
    csp_json_end(json);
    csp_json_object(json, "operations");
    for (int i = 0; i <= CSP_SPE_UNTOLD; i++)
        csp_json_number(json, csp_spe_operation_names[i], place->operations[i]);
    csp_json_end(json);
    csp_json_object(json, "data_sources");
    for (size_t i = 0; i < place->sources.len; i++) {
        char name[8];
        snprintf(name, sizeof name, "0x%x", place->sources.data[i].source);
        csp_json_number(json, name, place->sources.data[i].count);
    }
    csp_json_end(json);
}

void csp_spe_table_json(const struct csp_spe_table *table, const struct csp_places *samples,
                        struct csp_json *json)
{
    const struct csp_spe_stats *stats = &table->stats;
    rows all = make_rows(table, samples);
    csp_json_number(json, "spe_records", stats->records);
    csp_json_number(json, "spe_kernel", table->kernel);
    csp_json_number(json, "spe_elsewhere", table->elsewhere);
    csp_json_number(json, "spe_without_pc", table->without_pc);
    csp_json_number(json, "spe_bad_packets", stats->bad_packets);
    csp_json_number(json, "spe_dropped_bytes", stats->dropped);
    csp_json_number(json, "spe_left_bytes", stats->left);
    csp_json_number(json, "spe_collisions", table->collisions);
    csp_json_array(json, "instructions");
    for (size_t i = 0; i < all.len; i++) {
        const struct row *row = &all.data[i];
        csp_json_object(json, NULL);
        csp_json_string(json, "file", row->file);
        csp_json_number(json, "address", row->address);
        csp_json_number(json, "samples", row->samples);
        csp_json_number(json, "records", row->records);
        if (row->spe)
            json_place(row->spe, json);
        csp_json_end(json);
    }
    csp_json_end(json);
    csp_vec_free(&all);
}
