#include "emulate/journal_reader.h"

#include "base/file.h"
#include "emulate/conversion.h"

#include <string.h>

/* A thread for which there was no processor shares the first one's rings: it has no trace, but it
 * maps files like the others. */
static unsigned cpu_of(const struct csp_journal_record *record)
{
    return record->cpu < CSP_EMULATE_CPUS ? record->cpu : 0;
}

static int take_settings(struct csp_emulated_recording *recording,
                         const struct csp_journal_record *record, struct csp_diag *diag)
{
    struct csp_emulate_settings *settings = &recording->settings;
    if (!record || record->type != CSP_JOURNAL_SETTINGS ||
        csp_journal_tail_size(record) != sizeof *settings)
        return csp_fail(diag, CSP_ERR_INPUT, "the journal is not one of this build of csprof");
    memcpy(settings, csp_journal_tail(record), sizeof *settings);
    return 0;
}

static int read_journal(struct csp_conversion *conversion, struct csp_diag *diag)
{
    struct csp_emulated_recording *recording = conversion->recording;
    const struct csp_journal_record *record;
    size_t offset = 0;
    record = csp_journal_next(recording->journal, recording->journal_size, &offset);
    int error = take_settings(recording, record, diag);
    if (error)
        return error;
    while ((record = csp_journal_next(recording->journal, recording->journal_size, &offset))) {
        if (record->type == CSP_JOURNAL_TOTALS) {
            memcpy(&recording->totals, csp_journal_tail(record), sizeof recording->totals);
            recording->complete = true;
            continue;
        }
        if (cpu_of(record) >= conversion->cpus)
            conversion->cpus = cpu_of(record) + 1;
        csp_events_add(&conversion->events,
                       (struct csp_event){
                           .type = record->type,
                           .tid = record->tid,
                           .cpu = cpu_of(record),
                           .time = record->time,
                           .a = record->a,
                           .b = record->type == CSP_JOURNAL_TRACE ? 0 : record->b,
                           .c = record->c,
                           .tail = csp_journal_tail(record),
                           .tail_size = csp_journal_tail_size(record),
                       });
    }
    recording->cut_off = recording->journal_size - offset;
    if (conversion->events.list.len)
        conversion->pid = conversion->events.list.data[0].tid; /* the main thread comes first */
    csp_events_sort(&conversion->events);
    return 0;
}

static void release(struct csp_conversion *conversion)
{
    csp_events_free(&conversion->events);
    for (int event = 0; event < CSP_EMULATED_EVENTS; event++) {
        csp_vec_free(&conversion->ids[event]);
        free(conversion->names[event]);
    }
    for (unsigned cpu = 0; cpu < CSP_EMULATE_CPUS; cpu++)
        csp_buf_free(&conversion->rings[cpu].pending);
}

static int damage(struct csp_conversion *conversion, struct csp_diag *diag)
{
    struct csp_emulated_recording *recording = conversion->recording;
    struct csp_buf ledger = {0};
    int error = 0;
    conversion->raw = csp_faults_raw(&recording->faults, &recording->settings);
    if (!csp_faults_any(&recording->faults) && !recording->ledger)
        return 0;
    csp_faults_apply(&recording->faults, &recording->settings, &conversion->events, &ledger);
    if (recording->ledger)
        error = csp_output_write(recording->ledger, ledger.data, ledger.len, diag);
    csp_buf_free(&ledger);
    return error;
}

static int write_recording(struct csp_conversion *conversion, const char *path,
                           struct csp_diag *diag)
{
    csp_conversion_describe_events(conversion);
    int error =
        csp_writer_open(&conversion->writer, path, conversion->attrs, CSP_EMULATED_EVENTS, diag);
    if (error)
        return error;
    csp_conversion_write_head(conversion);
    csp_conversion_write_records(conversion);
    return csp_writer_close(conversion->writer, diag);
}

int csp_emulated_recording_write(struct csp_emulated_recording *recording, const char *path,
                                 struct csp_diag *diag)
{
    struct csp_conversion conversion = {.recording = recording};
    int error = read_journal(&conversion, diag);
    if (!error)
        error = damage(&conversion, diag);
    if (!error)
        error = write_recording(&conversion, path, diag);
    release(&conversion);
    return error;
}
