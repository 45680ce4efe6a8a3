#include "decode/recording_private.h"

#include "base/counted.h"

#include <inttypes.h>
#include <string.h>

/* Everything but samples and trace, in time order. */
static int take_others(struct csp_recording *recording, struct csp_diag *diag)
{
    const struct csp_recording_contents *contents = &recording->contents;
    struct csp_time_conv_event time_conv;
    int error = 0;
    for (size_t i = 0; i < contents->others.len && !error; i++) {
        const struct csp_record *record = &contents->others.data[i];
        csp_spaces_add(recording->spaces, record);
        if (csp_record_time_conv(record, &time_conv)) {
            recording->time_conv = time_conv;
            recording->converts = time_conv.cap_user_time_zero;
        }
        error = csp_auxtrace_add(&recording->contents.aux, record, diag);
    }
    return error;
}

static int read_records(struct csp_recording *recording, unsigned threads, struct csp_diag *diag)
{
    /* That the file ends early was told when it was opened; where, is of no more use. */
    bool told = csp_perfdata_info(recording->perfdata)->unfinished;
    int error = csp_recording_contents_read(&recording->contents, recording->perfdata, threads,
                                            &recording->records, told ? NULL : diag);
    if (error && told)
        csp_fail(diag, CSP_ERR_INPUT, "%s: its records cannot be read", recording->file.path);
    if (error)
        return error;
    recording->spaces = csp_spaces_create();
    recording->contents.aux.path = recording->file.path;
    csp_spaces_build_ids(recording->spaces, csp_perfdata_info(recording->perfdata));
    return take_others(recording, diag);
}

/* Whether trace is missing because the file is: told with the failure. */
static bool told_cut(const struct csp_recording *recording)
{
    return recording->contents.lost_bytes && !recording->contents.aux.stored_bytes;
}

static int open_recording(struct csp_recording *recording, const char *path,
                          const struct csp_image_options *options, unsigned threads,
                          struct csp_diag *diag)
{
    int error = csp_images_create(&recording->images, options, diag);
    if (!error)
        error = csp_file_map(&recording->file, path, diag);
    if (!error)
        error = csp_perfdata_open(&recording->perfdata, &recording->file, diag);
    if (!error)
        error = read_records(recording, threads, diag);
    if (error)
        return error;
    csp_auxtrace_finish(&recording->contents.aux, told_cut(recording) ? NULL : diag);
    recording->trace.open_code = csp_recording_open_code;
    recording->trace.owner = recording;
    csp_recording_make_streams(recording, diag);
    struct csp_missing_code none = {0};
    while (recording->missing.len < csp_spaces_binary_count(recording->spaces))
        csp_vec_push(&recording->missing, none);
    return 0;
}

int csp_recording_open(struct csp_recording **out, const char *path,
                       const struct csp_image_options *options, unsigned threads,
                       struct csp_diag *diag)
{
    struct csp_recording *recording = csp_calloc(1, sizeof *recording);
    pthread_mutex_init(&recording->lock, NULL);
    int error = open_recording(recording, path, options, threads, diag);
    if (error)
        csp_recording_close(recording);
    else
        *out = recording;
    return error;
}

void csp_recording_close(struct csp_recording *recording)
{
    if (!recording)
        return;
    csp_trace_input_free(&recording->trace);
    csp_recording_contents_free(&recording->contents);
    if (recording->spaces)
        csp_spaces_destroy(recording->spaces);
    if (recording->records)
        csp_records_close(recording->records);
    if (recording->perfdata)
        csp_perfdata_close(recording->perfdata);
    if (recording->file.path)
        csp_file_unmap(&recording->file);
    csp_images_destroy(recording->images);
    csp_vec_free(&recording->missing);
    pthread_mutex_destroy(&recording->lock);
    free(recording);
}

const struct csp_trace_input *csp_recording_trace(const struct csp_recording *recording)
{
    return &recording->trace;
}

const struct csp_perfdata *csp_recording_perfdata(const struct csp_recording *recording)
{
    return recording->perfdata;
}

struct csp_records *csp_recording_records(struct csp_recording *recording)
{
    if (!recording->records) /* none is compressed, so that nothing can go wrong */
        csp_records_open(&recording->records, recording->perfdata, CSP_ORDER_TIME, NULL);
    csp_records_rewind(recording->records);
    return recording->records;
}

const struct csp_recording_contents *csp_recording_contents(const struct csp_recording *recording)
{
    return &recording->contents;
}

const struct csp_auxtrace *csp_recording_auxtrace(const struct csp_recording *recording)
{
    return &recording->contents.aux;
}

const struct csp_spaces *csp_recording_spaces(const struct csp_recording *recording)
{
    return recording->spaces;
}

bool csp_recording_has_samples(const struct csp_recording *recording)
{
    for (size_t i = 0; i < csp_perfdata_attr_count(recording->perfdata); i++) {
        const struct csp_attr *attr = csp_perfdata_attr(recording->perfdata, i);
        if (csp_attr_closes_window(attr) || attr->sample_type & CSP_SAMPLE_BRANCH_STACK)
            return true;
    }
    return false;
}

uint32_t csp_recording_pid(const struct csp_recording *recording, uint32_t tid)
{
    return csp_thread_owners_pid(&recording->contents.owners, tid);
}

int csp_recording_require_trace(const struct csp_recording *recording, struct csp_diag *diag)
{
    const struct csp_auxtrace *aux = &recording->contents.aux;
    const char *path = recording->file.path;
    if (recording->trace.streams.len)
        return 0;
    if (aux->has_info && aux->type != CSP_AUXTRACE_CS_ETM)
        return csp_fail(diag, CSP_ERR_UNSUPPORTED,
                        "%s: its trace is not CoreSight (auxtrace type %d); only ETMv4 and ETE are "
                        "decoded",
                        path, (int)aux->type);
    if (recording->contents.lost_bytes)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: no trace is left in it: the file is damaged or cut short at offset "
                        "%" PRIu64,
                        path, recording->contents.cut_offset);
    if (aux->missing_bytes && !aux->stored_bytes)
        return 0;
    if (!aux->has_info && !aux->fragments.len && recording->contents.native)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no trace to decode: its samples have branch stacks, of which "
                        "`csprof gen` makes a profile",
                        path);
    if (!aux->has_info && !aux->fragments.len)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no trace: no AUXTRACE_INFO record; was it recorded with -e cs_etm, "
                        "or by csprof collect?",
                        path);
    if (!aux->has_info)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: the trace cannot be decoded: the AUXTRACE_INFO record, which tells "
                        "how the trace units were configured, is missing",
                        path);
    if (aux->unannounced_bytes)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: its trace (%s) cannot be decoded: the AUX records that tell what it "
                        "is were lost when it was recorded",
                        path, CSP_COUNTED(aux->unannounced_bytes, "byte"));
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s has no trace: the trace units were set up, but stored nothing that can be "
                    "decoded",
                    path);
}

const struct csp_image *csp_recording_image(struct csp_recording *recording, uint32_t number)
{
    const char *why;
    const struct csp_binary *binary = csp_spaces_binary(recording->spaces, number);
    return csp_images_find_file(recording->images, binary->path, &binary->build_id, &why);
}

bool csp_recording_locate(struct csp_recording *recording, uint32_t pid, uint64_t time,
                          uint64_t address, struct csp_location *location)
{
    const struct csp_mapping *mapping =
        csp_spaces_find(recording->spaces, pid, time ? time : UINT64_MAX, address);
    if (!mapping)
        return false;
    const struct csp_binary *binary = csp_spaces_binary(recording->spaces, mapping->binary);
    location->binary = mapping->binary;
    location->offset = address - mapping->start + mapping->page_offset;
    location->address = location->offset;
    location->image =
        csp_images_find(recording->images, binary->path, &binary->build_id, pid, NULL);
    if (location->image)
        csp_image_address(location->image, location->offset, &location->address);
    return true;
}

/* Whether looking elsewhere could have helped: not for the kernel, generated code and the like. */
static bool is_file(const char *path)
{
    return path[0] == '/' && path[1] != '/';
}

static const char *missing_name(const struct csp_recording *recording, uint32_t binary)
{
    return csp_spaces_binary(recording->spaces, binary)->path;
}

/* The failure: not enough of the trace could be followed, most often because of `worst`. */
static int fail_for_missing(const struct csp_recording *recording,
                            const struct csp_missing_code *worst, const char *name, uint64_t ranges,
                            struct csp_diag *diag)
{
    const char *how_much = ranges ? "most of the trace was not followed" : "nothing was decoded";
    if (!worst)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: %s: the trace tells of no instruction",
                        recording->file.path, how_much);
    return csp_fail(diag, CSP_ERR_INPUT, "%s: %s: %s %s", recording->file.path, how_much, name,
                    worst->why);
}

int csp_recording_report_missing(struct csp_recording *recording, uint64_t ranges,
                                 struct csp_diag *diag)
{
    char where[32];
    const struct csp_missing_code *worst = NULL;
    const char *worst_name = where;
    uint64_t in_files = 0;
    snprintf(where, sizeof where, "0x%" PRIx64, recording->unmapped.first);
    if (recording->unmapped.count)
        worst = &recording->unmapped;
    for (uint32_t i = 0; i < recording->missing.len; i++) {
        const struct csp_missing_code *missing = &recording->missing.data[i];
        if (is_file(missing_name(recording, i)))
            in_files += missing->count;
        if (missing->count && (!worst || missing->count > worst->count)) {
            worst = missing;
            worst_name = missing_name(recording, i);
        }
    }
    if (!ranges || in_files > ranges)
        return fail_for_missing(recording, worst, worst_name, ranges, diag);
    csp_recording_warn_of_missing(recording, diag);
    return 0;
}

void csp_recording_warn_of_missing(struct csp_recording *recording, struct csp_diag *diag)
{
    for (uint32_t i = 0; i < recording->missing.len; i++) {
        const struct csp_missing_code *missing = &recording->missing.data[i];
        if (missing->count)
            csp_warn(diag, "%s %s: trace went there %s and was not followed",
                     missing_name(recording, i), missing->why, CSP_COUNTED(missing->count, "time"));
    }
    if (recording->unmapped.count)
        csp_warn(diag, "0x%" PRIx64 " %s: trace went to such places %s and was not followed",
                 recording->unmapped.first, recording->unmapped.why,
                 CSP_COUNTED(recording->unmapped.count, "time"));
}
