/* What SPE says of each instruction, over a whole recording, and beside where samples were taken.
 */
#ifndef CSP_VALIDATE_SPE_TABLE_H
#define CSP_VALIDATE_SPE_TABLE_H

#include "base/json.h"
#include "validate/places.h"
#include "validate/spe_record.h"

struct csp_spe_source {
    uint16_t source;
    uint64_t count;
};

struct csp_spe_place {
    uint64_t latency[CSP_SPE_COUNTERS], latency_count[CSP_SPE_COUNTERS]; /* sums, and of how many */
    uint64_t events[CSP_SPE_NAMED_EVENTS];
    uint64_t operations[CSP_SPE_UNTOLD + 1];
    CSP_VEC(struct csp_spe_source) sources;
};

struct csp_spe_table {
    struct csp_places places;           /* counts are records */
    CSP_VEC(struct csp_spe_place) data; /* of each place */
    struct csp_spe_stats stats;
    uint64_t without_pc, kernel, elsewhere; /* records that are not in `places` */
    uint64_t collisions; /* AUX records that say that records collided and were lost */
};

/* Reads the AUX data of `perf record -e arm_spe_0//`. Errors: CSP_ERR_INPUT (no SPE data in it),
 * those of csp_recording_open. */
int csp_spe_table_read(struct csp_spe_table *table, const char *path, const char *symfs,
                       struct csp_diag *diag);
void csp_spe_table_free(struct csp_spe_table *table);

/* The mean of a latency at a place, or 0. */
double csp_spe_mean(const struct csp_spe_place *place, enum csp_spe_counter which);

/* The `most` instructions with the largest share of samples or records. */
void csp_spe_table_text(const struct csp_spe_table *table, const struct csp_places *samples,
                        size_t most, struct csp_buf *out);
/* Members of an object that the caller opened: all instructions that either has. */
void csp_spe_table_json(const struct csp_spe_table *table, const struct csp_places *samples,
                        struct csp_json *json);

#endif
