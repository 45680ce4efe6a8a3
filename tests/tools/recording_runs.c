/* Prints the windows of a recording's trace and their runs: recording_runs FILE SYMFS
 *
 *   window enabled|begun BRANCHES
 *   run START END HOW EXCEPTION RETURN|- joins|-     joins: the next run goes on where this one
 * ended
 */
#include "decode/history.h"
#include "decode/recording.h"
#include "decode/trace_decode.h"

#include <inttypes.h>
#include <stdio.h>

static void print(const struct csp_windows *list)
{
    static const char *const ends[] = {"exception", "off",     "overflow",
                                       "truncated", "no-code", "bad"};
    for (size_t i = 0; i < list->windows.len; i++) {
        const struct csp_window *window = &list->windows.data[i];
        const struct csp_run *runs = list->runs.data + window->run_first;
        printf("window %s\n", window->enabled ? "enabled" : "begun");
        for (uint32_t r = 0; r < window->run_len; r++) {
            const struct csp_run *run = &runs[r];
            bool joins = r + 1 < window->run_len && csp_run_joins(run, run + 1);
            printf("run %" PRIx64 " %" PRIx64 " %s %" PRIx32 " %" PRIx64 " %s\n", run->start,
                   run->end, ends[run->how], run->exception, run->return_address,
                   joins ? "joins" : "-");
        }
    }
}

static int print_part(void *user, struct csp_trace_part *part)
{
    (void)user;
    for (size_t i = 0; i < part->done.len; i++) {
        struct csp_windows list = csp_trace_part_windows(part, &part->done.data[i]);
        print(&list);
    }
    return 0;
}

static void complain(void *user, enum csp_severity severity, const char *message)
{
    (void)user, (void)severity;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = complain};
    struct csp_image_options options = {.symfs = argc == 3 ? argv[2] : NULL};
    struct csp_recording *recording;
    if (argc != 3 || csp_recording_open(&recording, argv[1], &options, 1, &diag))
        return 2;
    const struct csp_trace_input *input = csp_recording_trace(recording);
    struct csp_trace_consumer consumer = {.part = print_part};
    struct csp_trace_decode_options decode = {
        .create = csp_engine_create_native, .threads = 1, .consumer = &consumer};
    struct csp_trace_stats stats = {0};
    int error = csp_trace_decode(input, &decode, &stats, &diag);
    csp_recording_close(recording);
    return error < 0;
}
