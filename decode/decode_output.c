#include "decode/decode_output.h"

#include "decode/recording_contents.h"
#include "decode/text_output.h"
#include "decode/trace/opencsd_engine.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <xxhash.h>

enum { WRITE_AT = 1 << 20, INSTRUCTION = 4 };

static void write_text(struct csp_decode_output *output)
{
    if (output->stream && output->text.len)
        fwrite(output->text.data, 1, output->text.len, output->stream);
    output->text.len = 0;
}

static void write_when_large(struct csp_decode_output *output)
{
    if (output->text.len >= WRITE_AT)
        write_text(output);
}

/* Behind what is there already. */
static void write_also(struct csp_decode_output *output, const struct csp_buf *text)
{
    if (text->len && output->text.len)
        write_text(output);
    if (output->stream && text->len)
        fwrite(text->data, 1, text->len, output->stream);
}

static void print_ranges(void *user, struct csp_buf *text, const struct csp_element *elements,
                         size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        if (elements[i].type == CSP_ELEMENT_RANGE)
            csp_text_range(text, &elements[i]);
}

static void on_packet(void *user, uint64_t offset, uint8_t source, const char *text)
{
    struct csp_decode_output *output = user;
    csp_buf_printf(&output->text, "%" PRIu64 " %02x %s\n", offset, source, text);
    write_when_large(output);
}

/* What a window did, without when and whose it was. */
static uint64_t hash_window(const struct csp_windows *windows, const struct csp_window *window)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < window->run_len; i++) {
        const struct csp_run *run = &windows->runs.data[window->run_first + i];
        uint64_t ends[] = {run->start, run->end, run->how, run->return_address, hash};
        hash = XXH3_64bits_withSeed(ends, sizeof ends, hash);
        struct csp_branch_reader reader = csp_run_branches(windows, run);
        for (uint32_t k = 0; k < run->branch_len; k++) {
            const struct csp_branch branch = csp_branch_decode(&reader);
            uint64_t both[] = {branch.from, branch.to};
            hash = XXH3_64bits_withSeed(both, sizeof both, hash);
        }
    }
    return hash;
}

static void add_script(struct csp_decode_output *output, const struct csp_windows *windows,
                       const struct csp_run *run)
{
    if (!run->branch_len) {
        output->empty_stacks++;
        return;
    }
    struct csp_branch *newest_first = csp_malloc(run->branch_len * sizeof *newest_first);
    struct csp_branch_reader reader = csp_run_branches(windows, run);
    for (uint32_t i = run->branch_len; i--;)
        newest_first[i] = csp_branch_decode(&reader);
    bool stopped_at_target = newest_first[0].to == run->end;
    struct csp_sample sample = {
        /* the last instruction that ran */
        .ip = stopped_at_target ? newest_first[0].from : run->end - INSTRUCTION,
        .branches = newest_first,
        .branch_len = run->branch_len,
    };
    csp_text_sample(&output->text, &sample, output->limit);
    free(newest_first);
}

static void add_window(struct csp_decode_output *output, const struct csp_windows *windows,
                       const struct csp_window *window)
{
    if (output->count_distinct)
        csp_distinct_add(&output->distinct, hash_window(windows, window));
    bool by_run = output->format == CSP_DECODE_SCRIPT && !output->by_sample;
    for (uint32_t i = 0; i < window->run_len && by_run; i++)
        add_script(output, windows, &windows->runs.data[window->run_first + i]);
    write_when_large(output);
}

static int on_part(void *user, struct csp_trace_part *part)
{
    struct csp_decode_output *output = user;
    write_also(output, &part->text);
    for (size_t i = 0; i < part->done.len; i++) {
        struct csp_windows windows = csp_trace_part_windows(part, &part->done.data[i]);
        if (output->format == CSP_DECODE_PREAGG)
            csp_preagg_add(&output->preagg, part->done.data[i].chunk, &windows);
        for (size_t k = 0; k < windows.windows.len; k++)
            add_window(output, &windows, &windows.windows.data[k]);
    }
    return 0;
}

void csp_decode_output_print(void *user, const struct csp_sample *sample, struct csp_buf *text)
{
    struct csp_decode_output *output = user;
    if (output->format == CSP_DECODE_SAMPLES)
        csp_text_stitched_sample(text, sample);
    else if (sample->branch_len)
        csp_text_sample(text, sample, output->limit);
    else
        __atomic_fetch_add(&output->empty_stacks, 1, __ATOMIC_RELAXED);
}

int csp_decode_output_text(void *user, const struct csp_buf *text)
{
    write_also(user, text);
    return 0;
}

/* llvm-profgen learns from these lines where the binary was loaded. */
static void add_mappings(struct csp_decode_output *output)
{
    const struct csp_recording_contents *contents = csp_recording_contents(output->recording);
    struct csp_mmap_event event;
    for (size_t i = 0; i < contents->others.len; i++)
        if (csp_record_mmap(&contents->others.data[i], &event) && event.protection & PROT_EXEC)
            csp_text_mapping(&output->text, &event);
}

void csp_decode_output_begin(struct csp_decode_output *output)
{
    output->preagg.recording = output->recording;
    if (output->format == CSP_DECODE_SCRIPT && output->recording)
        add_mappings(output);
}

struct csp_trace_consumer csp_decode_output_consumer(struct csp_decode_output *output)
{
    bool by_run = output->format == CSP_DECODE_SCRIPT && !output->by_sample;
    bool wants_parts = output->count_distinct || by_run || output->format == CSP_DECODE_PREAGG ||
                       output->format == CSP_DECODE_RANGES;
    return (struct csp_trace_consumer){
        .print = output->format == CSP_DECODE_RANGES ? print_ranges : NULL,
        .part = wants_parts ? on_part : NULL,
        .user = output,
    };
}

void csp_decode_output_started(void *user, struct csp_engine *engine)
{
    struct csp_decode_output *output = user;
    csp_engine_opencsd_print_packets(engine, on_packet, output);
}

void csp_decode_output_end(struct csp_decode_output *output)
{
    if (output->format == CSP_DECODE_PREAGG)
        csp_preagg_text(&output->preagg, &output->text);
    write_text(output);
}

void csp_decode_output_free(struct csp_decode_output *output)
{
    csp_preagg_free(&output->preagg);
    csp_distinct_free(&output->distinct);
    csp_buf_free(&output->text);
}
