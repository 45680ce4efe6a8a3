/* Makes a profile of a recording as `csprof collect --live` does: cuts it into slices of about so
 * many bytes, in the order in which things happened, and counts each by itself.
 *
 *     live_replay RECORDING BINARY BYTES PROFILE
 *
 * Prints how many slices there were and what became of the samples. */
#include "base/file.h"
#include "collect/slice.h"
#include "perfdata/perfdata.h"
#include "profgen/live.h"

#include <stdio.h>
#include <string.h>

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    if (severity >= CSP_WARNING)
        fprintf(stderr, "%s: %s\n", severity == CSP_FAILURE ? "error" : "warning", message);
}

struct replay {
    struct csp_perfdata *reader;
    struct csp_diag diag;
    struct csp_live *live;
    struct csp_slice slice;
    struct csp_writer *writer;
    struct csp_auxtrace aux;
    struct csp_map fragment_of; /* by the ordinal of its AUX record: number + 1 */
    uint64_t slices, size;
    CSP_VEC(struct csp_record) starts; /* what every slice begins with */
};

static bool counts(void *slice, uint32_t cpu, uint64_t time)
{
    return csp_slice_counts(slice, cpu, time);
}

static void done(void *slice)
{
    csp_slice_free(slice);
    free(slice);
}

/* The trace comes right after the AUX record that tells of it. */
static void write_trace(struct replay *replay, const struct csp_record *record)
{
    const uint64_t *number = csp_map_find(&replay->fragment_of, record->ordinal);
    if (!number)
        return;
    const struct csp_aux_fragment *fragment = &replay->aux.fragments.data[*number - 1];
    const struct csp_aux_queue *queue = &replay->aux.queues.data[fragment->queue];
    for (uint32_t i = 0; i < csp_aux_piece_count(fragment); i++) {
        const struct csp_aux_piece piece = csp_aux_piece(&replay->aux, fragment, i);
        struct csp_auxtrace_event event = {.size = piece.size,
                                           .aux_offset = piece.aux_offset,
                                           .idx = queue->idx,
                                           .cpu = queue->cpu,
                                           .tid = queue->tid};
        csp_write_auxtrace(replay->writer, &event, piece.data);
    }
}

static void write_record(struct replay *replay, const struct csp_record *record)
{
    if (record->type == CSP_RECORD_AUXTRACE || record->type == CSP_RECORD_FINISHED_ROUND)
        return;
    csp_write_raw(replay->writer, record->body - 8, record->size);
    if (record->type == CSP_RECORD_AUX)
        write_trace(replay, record);
}

static void find_trace(struct replay *replay, struct csp_records *records)
{
    struct csp_record record;
    while (csp_records_next(records, &record))
        csp_auxtrace_add(&replay->aux, &record, &replay->diag);
    csp_records_rewind(records);
    csp_auxtrace_finish(&replay->aux, &replay->diag);
    for (size_t i = 0; i < replay->aux.fragments.len; i++)
        *csp_map_at(&replay->fragment_of, replay->aux.fragments.data[i].ordinal) = i + 1;
}

static void begin_slice(struct replay *replay)
{
    CSP_VEC(struct csp_attr) attrs = {0};
    for (size_t i = 0; i < csp_perfdata_attr_count(replay->reader); i++)
        csp_vec_push(&attrs, *csp_perfdata_attr(replay->reader, i));
    csp_slice_create(&replay->slice, 32768, &replay->diag);
    csp_writer_open(&replay->writer, replay->slice.path, attrs.data, attrs.len, &replay->diag);
    csp_vec_free(&attrs);
}

static void end_slice(struct replay *replay, bool last)
{
    struct csp_slice *given = csp_malloc(sizeof *given);
    csp_writer_close(replay->writer, &replay->diag);
    bool some = csp_slice_bound(&replay->slice, last);
    *given = replay->slice;
    if (!last) {
        begin_slice(replay);
        for (size_t i = 0; i < replay->starts.len; i++)
            write_record(replay, &replay->starts.data[i]);
        csp_slice_carry(given, replay->writer);
        csp_slice_follow(&replay->slice, given);
    }
    csp_slice_close_view(given);
    if (!some && !last)
        return done(given);
    struct csp_live_slice slice = {.counts = counts, .done = done, .slice = given};
    memcpy(slice.path, given->path, sizeof slice.path);
    csp_live_take(replay->live, &slice);
    replay->slices++;
}

static void replay_records(struct replay *replay)
{
    struct csp_records *records;
    struct csp_record record;
    if (csp_records_open(&records, replay->reader, CSP_ORDER_TIME, &replay->diag))
        exit(1);
    find_trace(replay, records);
    begin_slice(replay);
    uint64_t begun = csp_writer_size(replay->writer);
    while (csp_records_next(records, &record)) {
        if (record.type == CSP_RECORD_AUXTRACE_INFO || record.type == CSP_RECORD_ID_INDEX ||
            record.type == CSP_RECORD_TIME_CONV)
            csp_vec_push(&replay->starts, record);
        write_record(replay, &record);
        if (csp_writer_size(replay->writer) - begun < replay->size)
            continue;
        end_slice(replay, false);
        begun = csp_writer_size(replay->writer);
    }
    end_slice(replay, true);
    csp_records_close(records);
    csp_auxtrace_free(&replay->aux);
    csp_map_free(&replay->fragment_of);
}

int main(int argc, char **argv)
{
    struct csp_file file;
    struct replay replay = {.diag = {.emit = print_message}};
    struct csp_live_stats stats;
    if (argc != 5)
        return 2;
    replay.size = strtoull(argv[3], NULL, 0);
    const struct csp_live_options options = {.binary_path = argv[2], .output = argv[4]};
    if (csp_file_map(&file, argv[1], &replay.diag) ||
        csp_perfdata_open(&replay.reader, &file, &replay.diag) ||
        csp_live_start(&replay.live, &options, &replay.diag))
        return 1;
    replay_records(&replay);
    int error = csp_live_finish(replay.live, &stats);
    printf("slices %llu samples %llu stitched %llu used %llu cpu %.3f\n",
           (unsigned long long)replay.slices, (unsigned long long)stats.samples,
           (unsigned long long)stats.stitched, (unsigned long long)stats.used, stats.seconds);
    csp_live_free(replay.live);
    csp_perfdata_close(replay.reader);
    csp_file_unmap(&file);
    csp_vec_free(&replay.starts);
    return error ? 1 : 0;
}
