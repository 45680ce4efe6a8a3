/* Bundles: a recording or aggregates together with what is needed of the binaries, in one file, to
 * make the profile elsewhere. A bundle is an archive (base/archive.h) of
 *
 *     input/N                    the recordings and aggregates, from 0 on
 *     program/NAME               the profiled binary
 *     files/.build-id/XX/YYYY…   the other files that were mapped, as --symfs finds them
 *     files/NAME                 those without a build-id
 *
 * Binaries keep their layout; what nobody asks for in them (data, constants, ...) is zeroes. */
#ifndef CSP_PROFGEN_BUNDLE_H
#define CSP_PROFGEN_BUNDLE_H

#include "base/archive.h"
#include "base/buf.h"
#include "base/vec.h"
#include "decode/recording.h"

/* A copy of an ELF file with zeroes for all but headers, notes, code and unwind tables and, of the
 * program, symbols, pseudo-probes and debug information. `scrub`: without names that have a slash
 * in tables of strings, which are paths. False when it is no ELF file with section headers: then it
 * is copied as it is. */
bool csp_bundle_binary(const uint8_t *data, size_t size, bool program, bool scrub,
                       struct csp_buf *copy);
/* Adds all files that the recording mapped and that are found, but the program. */
void csp_bundle_files(struct csp_archive_writer *writer, struct csp_recording *recording,
                      const char *program_path, bool scrub);

/* One that is unpacked, in a temporary folder. */
struct csp_bundle {
    char *folder, *program, *symfs;
    CSP_VEC(char *) inputs, names;
};
/* Errors: those of csp_archive_unpack; CSP_ERR_INPUT: it has no program. Close after an error too.
 */
int csp_bundle_open(struct csp_bundle *bundle, const char *path, struct csp_diag *diag);
/* Removes the folder. */
void csp_bundle_close(struct csp_bundle *bundle);

#endif
