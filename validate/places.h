/* Counts by instruction: a file that was mapped, and an address in it as linked. */
#ifndef CSP_VALIDATE_PLACES_H
#define CSP_VALIDATE_PLACES_H

#include "base/intern.h"
#include "decode/recording.h"

struct csp_place {
    uint64_t address;
    uint32_t file; /* in csp_places.files */
    uint32_t zero;
};

struct csp_places {
    struct csp_intern files;
    struct csp_intern keys; /* struct csp_place; numbers `counts` */
    CSP_VEC(uint64_t) counts;
    uint64_t total;
};

/* The number of an instruction, made when it is new, with a count of 0. */
uint32_t csp_places_add(struct csp_places *places, const char *file, uint64_t address);
/* Its number, or CSP_INTERN_NONE. */
uint32_t csp_places_find(const struct csp_places *places, const char *file, uint64_t address);
static inline const struct csp_place *csp_places_at(const struct csp_places *places, uint32_t id)
{
    return places->keys.entries.data[id].data;
}
static inline const char *csp_places_file(const struct csp_places *places, uint32_t id)
{
    return csp_intern_text(&places->files, csp_places_at(places, id)->file);
}
void csp_places_free(struct csp_places *places);

/* Counts where the samples of a recording were taken: the first user frame of the callchain, else
 * the address in the sample. Samples that open trace windows are left out: they are taken at the
 * same moments again and again. `elsewhere` counts those in no file. */
void csp_places_of_samples(struct csp_places *places, struct csp_recording *recording,
                           uint64_t *elsewhere);

#endif
