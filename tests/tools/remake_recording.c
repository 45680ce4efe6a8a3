/* Makes a recording of a journal that `csprof collect --emulate --keep-journal` kept, with other
 * faults: without running the program again.
 *
 *     remake_recording [--fault KIND[=X]]... [--ledger FILE] [--seed N] JOURNAL OUTPUT
 */
#include "base/file.h"
#include "base/parse.h"
#include "emulate/journal_reader.h"

#include <stdio.h>
#include <string.h>

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    if (severity >= CSP_WARNING)
        fprintf(stderr, "%s: %s\n", severity == CSP_FAILURE ? "error" : "warning", message);
}

static int usage(void)
{
    fprintf(stderr, "usage: remake_recording [--fault KIND[=X]]... [--ledger FILE] [--seed N] "
                    "JOURNAL OUTPUT\n");
    return CSP_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = print_message};
    struct csp_emulated_recording recording = {.faults = {.seed = 1}};
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (!strcmp(argv[i], "--ledger"))
            recording.ledger = argv[i + 1];
        else if (!strcmp(argv[i], "--fault") &&
                 csp_faults_parse(&recording.faults, argv[i + 1], &diag) == 0)
            continue;
        else if (strcmp(argv[i], "--seed") != 0 ||
                 !csp_parse_count(argv[i + 1], &recording.faults.seed))
            return usage();
    }
    if (argc - i != 2)
        return usage();
    struct csp_file journal;
    int error = csp_file_map(&journal, argv[i], &diag);
    if (error)
        return csp_error_exit(error);
    recording.journal = journal.data;
    recording.journal_size = journal.size;
    error = csp_emulated_recording_write(&recording, argv[i + 1], &diag);
    csp_file_unmap(&journal);
    return csp_error_exit(error);
}
