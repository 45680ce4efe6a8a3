/* The program that csprof gen makes a profile of, opened beside the recordings where it is named:
 * neither needs the other. */
#ifndef CSP_CLI_GEN_PROGRAM_OPEN_H
#define CSP_CLI_GEN_PROGRAM_OPEN_H

#include "base/messages.h"
#include "cli/gen_options.h"

struct csp_gen_program {
    struct gen *gen;
    struct csp_profgen *profgen;
    bool was_tried;
    int error;
    struct csp_messages messages; /* held back until it is the program's turn */
};

void csp_gen_program_begin(struct csp_gen_program *program, struct gen *gen,
                           struct csp_profgen *profgen);
/* Opens the recordings, as csp_gen_open_recordings does, and the program too where another thread
 * can do that meanwhile. Errors: those of the recordings. */
int csp_gen_program_and_recordings(struct csp_gen_program *program);
/* Opens the program, or tells what became of that. Errors: that the inputs are of another program;
 * those of csp_profgen_open. */
int csp_gen_program_open(struct csp_gen_program *program, struct csp_diag *diag);
/* Before the program is closed. */
void csp_gen_program_end(struct csp_gen_program *program);

#endif
