/* What a result of profile generation depends on, as the key of a store: lines of text, of which
 * the first names csprof itself to the byte. Files count by their contents. */
#ifndef CSP_PROFGEN_RUN_KEY_H
#define CSP_PROFGEN_RUN_KEY_H

#include "base/buf.h"
#include "decode/recording_key.h"
#include "profgen/program.h"

#include <stdbool.h>

struct csp_run_key {
    struct csp_buf text;
    bool unknown; /* it depends on something else too: nothing must be kept, nor looked for */
};

/* `what`: the kind of result, and the version of how it is kept. */
void csp_run_key_begin(struct csp_run_key *key, const char *what);
void csp_run_key_line(struct csp_run_key *key, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The contents of a file; that there is none counts too. A null path is not asked for. Standard
 * input is unknown. */
void csp_run_key_file(struct csp_run_key *key, const char *what, const char *path);
/* Everything that is read of a program. Where its debug information is in files that it names
 * itself, only csp_debug_info_is_split knows, later. */
void csp_run_key_program(struct csp_run_key *key, const struct csp_program_options *program);
void csp_run_key_recording(struct csp_run_key *key, struct csp_recording *recording);
/* The same of a recording that was not opened, whose files are looked for among `images`. */
void csp_run_key_outline(struct csp_run_key *key, const struct csp_recording_outline *outline,
                         struct csp_images *images);
void csp_run_key_free(struct csp_run_key *key);

#endif
