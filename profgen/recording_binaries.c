#include "profgen/recording_binaries.h"

#include "base/alloc.h"
#include "decode/pause_index.h"

#include <string.h>

struct sampled {
    const struct csp_image *image;
    uint64_t samples;
};

static void count(struct csp_recording *recording, const struct csp_record *record,
                  struct sampled *files)
{
    struct csp_sample_record sample;
    struct csp_location location;
    const struct csp_perfdata *reader = csp_recording_perfdata(recording);
    if (record->type != CSP_RECORD_SAMPLE ||
        !csp_sample_parse(csp_perfdata_attr(reader, record->attr), record, &sample))
        return;
    struct csp_user_frames frames = csp_sample_user_frames(&sample);
    uint64_t address = frames.len ? csp_sample_frame(&sample, frames.first) : sample.ip;
    if (!csp_recording_locate(recording, sample.pid, record->time, address, &location))
        return;
    files[location.binary].image = location.image;
    files[location.binary].samples++;
}

static int by_samples(const void *a, const void *b)
{
    const struct csp_sampled_binary *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    return strcmp(x->path, y->path);
}

void csp_recording_binaries(struct csp_recording *recording, csp_sampled_binaries *binaries)
{
    struct csp_records *records = csp_recording_records(recording);
    struct csp_record record;
    size_t file_len = csp_spaces_binary_count(csp_recording_spaces(recording));
    struct sampled *files = csp_calloc(file_len + 1, sizeof *files);
    while (csp_records_next(records, &record))
        count(recording, &record, files);
    for (size_t i = 0; i < file_len; i++)
        if (files[i].image)
            csp_vec_push(binaries,
                         (struct csp_sampled_binary){files[i].image->path, files[i].samples});
    free(files);
    if (binaries->len)
        qsort(binaries->data, binaries->len, sizeof *binaries->data, by_samples);
}
