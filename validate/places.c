#include "validate/places.h"

#include "decode/pause_index.h"

#include <string.h>

static struct csp_place key_of(uint32_t file, uint64_t address)
{
    return (struct csp_place){.address = address, .file = file};
}

uint32_t csp_places_add(struct csp_places *places, const char *file, uint64_t address)
{
    struct csp_place key = key_of(csp_intern_string(&places->files, file), address);
    uint32_t id = csp_intern(&places->keys, &key, sizeof key);
    if (id == places->counts.len)
        csp_vec_push(&places->counts, 0);
    return id;
}

uint32_t csp_places_find(const struct csp_places *places, const char *file, uint64_t address)
{
    uint32_t number = csp_intern_find(&places->files, file, strlen(file));
    if (number == CSP_INTERN_NONE)
        return CSP_INTERN_NONE;
    struct csp_place key = key_of(number, address);
    return csp_intern_find(&places->keys, &key, sizeof key);
}

void csp_places_free(struct csp_places *places)
{
    csp_intern_free(&places->files);
    csp_intern_free(&places->keys);
    csp_vec_free(&places->counts);
}

static bool user_pc(const struct csp_sample_record *sample, uint64_t *pc)
{
    struct csp_user_frames frames = csp_sample_user_frames(sample);
    *pc = frames.len ? csp_sample_frame(sample, frames.first) : sample->ip;
    return frames.len || (sample->sample_type & CSP_SAMPLE_IP);
}

void csp_places_of_samples(struct csp_places *places, struct csp_recording *recording,
                           uint64_t *elsewhere)
{
    const struct csp_perfdata *reader = csp_recording_perfdata(recording);
    struct csp_records *records = csp_recording_records(recording);
    struct csp_record record;
    *elsewhere = 0;
    while (csp_records_next(records, &record)) {
        if (record.type != CSP_RECORD_SAMPLE)
            continue;
        const struct csp_attr *attr = csp_perfdata_attr(reader, record.attr);
        struct csp_sample_record sample;
        struct csp_location location;
        uint64_t pc;
        if (attr->aux_action & CSP_AUX_RESUME || !csp_sample_parse(attr, &record, &sample) ||
            !user_pc(&sample, &pc))
            continue;
        if (!csp_recording_locate(recording, sample.pid, sample.time, pc, &location)) {
            ++*elsewhere;
            continue;
        }
        const char *file =
            csp_spaces_binary(csp_recording_spaces(recording), location.binary)->path;
        uint32_t id = csp_places_add(places, file, location.address);
        places->counts.data[id]++;
        places->total++;
    }
}
