/* Prints the SPE packets of a file of raw bytes: `OFFSET SIZE KIND INDEX PAYLOAD`, the first and
 * the last hexadecimal. Padding and alignment are left out. Ends at what is no packet.
 *
 *     spe_packets FILE
 */
#include "base/file.h"
#include "validate/spe_packet.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user, (void)severity;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"padding", "alignment", "end", "timestamp", "events",
                                        "source",  "context",   "op",  "address",   "counter"};
    struct csp_diag diag = {.emit = print_message};
    struct csp_file file;
    if (argc != 2) {
        fprintf(stderr, "usage: spe_packets FILE\n");
        return CSP_EXIT_USAGE;
    }
    int error = csp_file_map(&file, argv[1], &diag);
    if (error)
        return csp_error_exit(error);
    struct csp_spe_packet packet;
    size_t at = 0;
    while (csp_spe_packet_read(file.data + at, file.size - at, at, &packet) == CSP_SPE_PACKET) {
        if (packet.kind > CSP_SPE_ALIGNMENT)
            printf("%zx %zu %s %u %" PRIx64 "\n", at, packet.size, kinds[packet.kind], packet.index,
                   packet.payload);
        at += packet.size;
    }
    bool whole = at == file.size;
    csp_file_unmap(&file);
    return whole ? 0 : 1;
}
