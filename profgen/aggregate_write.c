#include "profgen/aggregate_format.h"

#include "base/alloc.h"
#include "profgen/runs.h"

#include <stdlib.h>
#include <string.h>

struct output {
    struct csp_block_writer writer;
    struct csp_sample_order order;
    uint32_t callers; /* the rank of the last sample's */
    uint64_t samples;
};

static void add_identity(const struct csp_aggregate *aggregate, struct csp_block_writer *writer)
{
    const struct csp_sample_set_stats *stats = &aggregate->set.stats;
    struct csp_buf *out = &writer->block;
    csp_block_add_uleb(out, aggregate->build_id.size);
    csp_buf_add(out, aggregate->build_id.bytes, aggregate->build_id.size);
    csp_buf_add_u64(out, aggregate->code);
    csp_block_add_uleb(out, strlen(aggregate->name));
    csp_buf_add_string(out, aggregate->name);
    csp_block_add_uleb(out, aggregate->callchains);
    csp_block_add_uleb(out, stats->samples);
    csp_block_add_uleb(out, stats->used);
    csp_block_add_uleb(out, CSP_REJECT_COUNT);
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        csp_block_add_uleb(out, stats->rejected[i]);
    csp_block_add_uleb(out, stats->truncated_callchains);
    csp_block_add_uleb(out, stats->branches);
    csp_block_add_uleb(out, stats->impossible_branches);
    csp_block_add_uleb(out, stats->external_branches);
    csp_block_item(writer);
}

static void add_count(struct csp_block_writer *writer, size_t count)
{
    csp_block_add_uleb(&writer->block, count);
    csp_block_item(writer);
}

static void add_inputs(const csp_digests *inputs, struct csp_block_writer *writer)
{
    add_count(writer, inputs->len);
    for (size_t i = 0; i < inputs->len; i++) {
        csp_buf_add(&writer->block, inputs->data[i].bytes, sizeof inputs->data[i].bytes);
        csp_block_item(writer);
    }
}

static void add_branches(const struct csp_sample_order *order, struct csp_block_writer *writer)
{
    uint64_t before = 0;
    size_t count = order->set->branches.list.len;
    add_count(writer, count);
    for (size_t i = 0; i < count; i++) {
        const struct csp_pair *branch = &order->set->branches.list.data[order->branches[i]];
        csp_block_add_uleb(&writer->block, branch->first - before);
        csp_block_add_sleb(&writer->block, branch->second - branch->first);
        csp_block_item(writer);
        before = branch->first;
    }
}

static void add_callers(const struct csp_sample_order *order, struct csp_block_writer *writer)
{
    size_t count = order->set->callers.entries.len;
    add_count(writer, count);
    for (size_t i = 0; i < count; i++) {
        const struct csp_intern_entry *entry = &order->set->callers.entries.data[order->callers[i]];
        const uint64_t *calls = entry->data;
        uint64_t before = 0;
        csp_block_add_uleb(&writer->block, entry->size / sizeof *calls);
        for (size_t c = 0; c < entry->size / sizeof *calls; c++) {
            csp_block_add_sleb(&writer->block, calls[c] - before);
            before = calls[c];
        }
        csp_block_item(writer);
    }
}

static void add_sample(void *user, const struct csp_flat_sample *sample, uint64_t count)
{
    struct output *output = user;
    struct csp_buf *out = &output->writer.block;
    uint32_t callers = output->order.caller_ranks[sample->callers];
    csp_block_add_uleb(out, (uint64_t)(callers - output->callers) + 1);
    output->callers = callers;
    csp_block_add_uleb(out, sample->leaf);
    csp_block_add_uleb(out, sample->start);
    csp_block_add_uleb(out, sample->end);
    csp_block_add_uleb(out, sample->branch_len);
    uint8_t *first = (uint8_t *)csp_buf_reserve(out, (size_t)sample->branch_len * CSP_ULEB_MOST),
            *at = first;
    for (uint32_t b = 0; b < sample->branch_len; b++)
        at = csp_block_put_uleb(at, output->order.branch_ranks[csp_flat_number(sample, b)]);
    out->len += (size_t)(at - first);
    csp_block_add_uleb(out, count);
    csp_block_item(&output->writer);
    output->samples++;
}

static void add_samples(struct output *output)
{
    const struct csp_sample_set *set = output->order.set;
    uint32_t *numbers = csp_sample_order_samples(&output->order);
    for (size_t i = 0; i < set->counts.len; i++)
        add_sample(output, csp_sample_set_at(set, numbers[i]), set->counts.data[numbers[i]]);
    free(numbers);
}

static void begin(struct output *output, const struct csp_aggregate *aggregate, FILE *stream,
                  struct csp_buf *out)
{
    struct csp_buf header = {0};
    *output = (struct output){.writer = {.stream = stream,
                                         .out = out,
                                         .least = CSP_AGGREGATE_BLOCK,
                                         .level = CSP_AGGREGATE_LEVEL,
                                         .written = CSP_AGGREGATE_HEADER}};
    csp_buf_add(&header, CSP_AGGREGATE_MAGIC, 8);
    csp_buf_add_u32(&header, CSP_AGGREGATE_VERSION);
    csp_buf_add_u32(&header, 0);
    if (stream)
        fwrite(header.data, 1, header.len, stream);
    else
        csp_buf_add(out, header.data, header.len);
    csp_buf_free(&header);
    csp_sample_order_begin(&output->order, &aggregate->set);
    add_identity(aggregate, &output->writer);
    add_inputs(&aggregate->inputs, &output->writer);
    add_branches(&output->order, &output->writer);
    add_callers(&output->order, &output->writer);
}

static uint64_t end(struct output *output)
{
    add_count(&output->writer, 0);
    csp_block_end(&output->writer);
    csp_sample_order_free(&output->order);
    return output->writer.written;
}

uint64_t csp_aggregate_write(const struct csp_aggregate *aggregate, FILE *stream,
                             struct csp_buf *out)
{
    struct output output;
    begin(&output, aggregate, stream, out);
    add_samples(&output);
    return end(&output);
}

int csp_aggregate_write_runs(struct csp_aggregate *aggregate, struct csp_runs *runs, FILE *stream,
                             struct csp_aggregate_written *written, struct csp_diag *diag)
{
    struct output output;
    int error = 0;
    if (runs->files.len && aggregate->set.counts.len)
        error = csp_runs_put(runs, &aggregate->set, diag);
    begin(&output, aggregate, stream, NULL);
    if (!runs->files.len)
        add_samples(&output);
    else if (!error)
        error = csp_runs_merge(runs, &output.order, add_sample, &output, &aggregate->set.saturated,
                               diag);
    written->samples = output.samples;
    written->bytes = end(&output);
    return error;
}
