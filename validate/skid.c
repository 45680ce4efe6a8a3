#include "validate/skid.h"

#include "base/file.h"
#include "decode/pause_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool read_line(struct csp_skid *skid, const char *line)
{
    struct csp_skid_place place = {0};
    int what = 0;
    if (!strncmp(line, "about ", 6)) {
        free(skid->about);
        skid->about = csp_strdup(line + 6);
        return true;
    }
    if (sscanf(line, "place %" SCNx64 " %" SCNx64 " %lf %n", &place.start, &place.end, &place.time,
               &what) != 3 ||
        !what)
        return false;
    place.what = csp_strdup(line + what);
    csp_vec_push(&skid->places, place);
    return true;
}

int csp_skid_read(struct csp_skid *skid, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    struct csp_buf line = {0};
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    const char *at = (const char *)file.data, *end = at + file.size, *stop;
    while (!error && at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
        line.len = 0;
        csp_buf_add(&line, at, (size_t)(stop - at));
        if (!read_line(skid, line.data))
            error = csp_fail(diag, CSP_ERR_FAILED, "%s: expected `place START END SHARE WHAT`: %s",
                             path, line.data);
        at = stop + 1;
    }
    if (!error && (!skid->places.len || !skid->about))
        error = csp_fail(diag, CSP_ERR_FAILED, "the workload ended without telling what it did");
    /* The largest instruction of any machine has 15 bytes. */
    skid->instructions =
        skid->places.len && skid->places.data[0].end - skid->places.data[0].start < 16;
    csp_buf_free(&line);
    csp_file_unmap(&file);
    return error;
}

static struct csp_skid_place *place_at(struct csp_skid *skid, uint64_t address)
{
    for (size_t i = 0; i < skid->places.len; i++) {
        struct csp_skid_place *place = &skid->places.data[i];
        if (address >= place->start && address < place->end)
            return place;
    }
    return NULL;
}

int csp_skid_count(struct csp_skid *skid, struct csp_recording *recording, struct csp_diag *diag)
{
    struct csp_places samples = {0};
    csp_places_of_samples(&samples, recording, &skid->elsewhere);
    for (uint32_t i = 0; i < samples.counts.len; i++) {
        struct csp_skid_place *place = place_at(skid, csp_places_at(&samples, i)->address);
        *(place ? &place->samples : &skid->elsewhere) += samples.counts.data[i];
        skid->samples += place ? samples.counts.data[i] : 0;
    }
    csp_places_free(&samples);
    if (skid->samples)
        return 0;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "not one of %" PRIu64 " samples is in the workload's loops: let it run for "
                    "longer (--seconds)",
                    skid->elsewhere);
}

void csp_skid_count_spe(struct csp_skid *skid, const struct csp_spe_table *table)
{
    for (uint32_t i = 0; i < table->places.counts.len; i++) {
        struct csp_skid_place *place = place_at(skid, csp_places_at(&table->places, i)->address);
        const char *file = csp_places_file(&table->places, i), *name = strrchr(file, '/');
        if (!place || strcmp(name ? name + 1 : file, "csprof-workload") != 0)
            continue;
        place->records += table->places.counts.data[i];
        skid->records += table->places.counts.data[i];
    }
}

void csp_skid_free(struct csp_skid *skid)
{
    for (size_t i = 0; i < skid->places.len; i++)
        free(skid->places.data[i].what);
    csp_vec_free(&skid->places);
    free(skid->about);
}

const struct csp_skid_place *csp_skid_slowest(const struct csp_skid *skid)
{
    const struct csp_skid_place *best = NULL;
    for (size_t i = 0; i < skid->places.len; i++)
        if (!best || skid->places.data[i].time > best->time)
            best = &skid->places.data[i];
    return best;
}

const struct csp_skid_place *csp_skid_most_sampled(const struct csp_skid *skid)
{
    const struct csp_skid_place *best = NULL;
    for (size_t i = 0; i < skid->places.len; i++)
        if (skid->places.data[i].samples && (!best || skid->places.data[i].samples > best->samples))
            best = &skid->places.data[i];
    return best;
}
