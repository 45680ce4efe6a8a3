/* Prints every element of a CoreSight snapshot as one line: trace_elements native|opencsd FOLDER */
#include "decode/snapshot.h"
#include "decode/trace_decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print(void *user, struct csp_buf *text, const struct csp_element *elements,
                  size_t count)
{
    static const char *const names[] = {
        [CSP_ELEMENT_RANGE] = "RANGE",
        [CSP_ELEMENT_TRACE_ON] = "TRACE_ON",
        [CSP_ELEMENT_SYNC] = "SYNC",
        [CSP_ELEMENT_EXCEPTION] = "EXCEPTION",
        [CSP_ELEMENT_EXCEPTION_RETURN] = "EXCEPTION_RETURN",
        [CSP_ELEMENT_CONTEXT] = "CONTEXT",
        [CSP_ELEMENT_TIMESTAMP] = "TIMESTAMP",
        [CSP_ELEMENT_NO_CODE] = "NO_CODE",
        [CSP_ELEMENT_NO_PATH] = "NO_PATH",
        [CSP_ELEMENT_OVERFLOW] = "OVERFLOW",
        [CSP_ELEMENT_DISCARD] = "DISCARD",
        [CSP_ELEMENT_BAD] = "BAD",
        [CSP_ELEMENT_STRETCH] = "STRETCH",
        [CSP_ELEMENT_OTHER] = "OTHER",
    };
    (void)user, (void)text;
    for (size_t i = 0; i < count; i++) {
        const struct csp_element *e = &elements[i];
        printf("%02x %s a=%" PRIx64 " b=%" PRIx64 " n=%u kind=%u taken=%u number=%u el=%u%s\n",
               e->source, names[e->type], e->a, e->b, e->instructions, e->kind, e->taken, e->number,
               e->el, e->secure ? " secure" : "");
    }
}

static void complain(void *user, enum csp_severity severity, const char *message)
{
    (void)user, (void)severity;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = complain};
    struct csp_snapshot *snapshot;
    if (argc != 3 || csp_snapshot_open(&snapshot, argv[2], &diag))
        return 2;
    const struct csp_trace_input *input = csp_snapshot_trace(snapshot);
    struct csp_trace_consumer consumer = {.print = print};
    struct csp_trace_stats stats = {0};
    struct csp_trace_decode_options options = {
        .create = strcmp(argv[1], "native") ? csp_engine_create_opencsd : csp_engine_create_native,
        .consumer = &consumer};
    int error = csp_trace_decode(input, &options, &stats, &diag);
    printf("bytes %" PRIu64 " bad %" PRIu64 " lost %" PRIu64 "\n", stats.engine.bytes,
           stats.engine.bad_packets, stats.engine.lost_bytes);
    csp_snapshot_close(snapshot);
    return error < 0;
}
