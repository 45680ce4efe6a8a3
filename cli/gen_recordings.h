/* The recordings among the inputs of csprof gen: opened, or known from earlier. */
#ifndef CSP_CLI_GEN_RECORDINGS_H
#define CSP_CLI_GEN_RECORDINGS_H

#include "cli/gen_options.h"
#include "profgen/outline_store.h"

/* Opens them, chooses the program when none was given, and keeps what was learned. Errors: those of
 * csp_recording_open and csp_recording_main_program. Close after an error too. */
int csp_gen_open_recordings(struct gen *gen);
void csp_gen_close_recordings(struct gen *gen);

/* What opening them told earlier. */
struct csp_gen_known {
    struct csp_images *images;
    CSP_VEC(struct csp_known_recording) recordings;
    const char *given; /* the program that the command line named; may be null */
};

/* Learns it from the store and chooses the program. False when there are no recordings, or not
 * all of it is known: then they have to be opened. Free after false too. */
bool csp_gen_know(struct gen *gen, struct csp_gen_known *known);
/* Adds the recordings to a key, as csp_run_key_recording does. */
void csp_gen_known_key(const struct csp_gen_known *known, struct csp_run_key *key);
/* Tells what was told when they were opened. */
void csp_gen_known_tell(const struct gen *gen, const struct csp_gen_known *known);
/* The choice of the program is forgotten, too. */
void csp_gen_known_free(struct gen *gen, struct csp_gen_known *known);

#endif
