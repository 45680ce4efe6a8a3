#include "profgen/recording_program.h"

#include "base/alloc.h"
#include "base/map.h"
#include "decode/recording_contents.h"
#include "profgen/recording_input.h"

#include <sys/mman.h>
#include <unistd.h>

/* Which program each process runs, told by the order of what is mapped: the kernel maps the program
 * before anything that it needs. */
struct programs {
    struct csp_recording *recording;
    struct csp_map of_process; /* its program's number + 1; 0: not mapped yet */
    uint64_t *samples;         /* with callchains, by number */
    const struct csp_image **images;
};

static void program_mapped(struct programs *programs, const struct csp_record *record,
                           const struct csp_mmap_event *event)
{
    uint64_t *known = csp_map_at(&programs->of_process, event->pid);
    struct csp_location location;
    if (*known || !(event->protection & PROT_EXEC) ||
        !csp_recording_locate(programs->recording, event->pid, record->time, event->start,
                              &location))
        return;
    *known = location.binary + 1;
    programs->images[location.binary] = location.image;
}

static void program_sampled(struct programs *programs, const struct csp_first_sample *first)
{
    struct csp_sample_record sample;
    const struct csp_attr *attr =
        csp_perfdata_attr(csp_recording_perfdata(programs->recording), first->attr);
    const struct csp_record record = {
        .type = CSP_RECORD_SAMPLE, .body = first->body, .body_size = first->body_size};
    if (!csp_sample_parse(attr, &record, &sample))
        return;
    const uint64_t *program = csp_map_find(&programs->of_process, sample.pid);
    if (program && *program && csp_sample_user_frames(&sample).len)
        programs->samples[*program - 1]++;
}

static void program_changed(struct programs *programs, const struct csp_record *record)
{
    struct csp_mmap_event mapped;
    struct csp_task_event task;
    if (csp_record_mmap(record, &mapped)) {
        program_mapped(programs, record, &mapped);
    } else if (record->type == CSP_RECORD_COMM && record->misc & CSP_MISC_COMM_EXEC) {
        *csp_map_at(&programs->of_process, record->pid) = 0;
    } else if (record->type == CSP_RECORD_FORK && csp_record_task(record, &task) &&
               task.pid != task.parent_pid) {
        const uint64_t *parent = csp_map_find(&programs->of_process, task.parent_pid);
        uint64_t program = parent ? *parent : 0;
        *csp_map_at(&programs->of_process, task.pid) = program;
    }
}

static bool is_before(const struct csp_record *record, const struct csp_first_sample *sample)
{
    return record->time != sample->time ? record->time < sample->time
                                        : record->ordinal < sample->ordinal;
}

/* The samples, each when what was told before it is known. */
static void follow(struct programs *programs)
{
    const struct csp_recording_contents *contents = csp_recording_contents(programs->recording);
    const struct csp_first_samples *samples = &contents->first_samples;
    size_t told = 0;
    for (size_t i = 0; i < samples->list.len; i++) {
        const struct csp_first_sample *sample = &samples->list.data[i];
        for (; told < contents->others.len && is_before(&contents->others.data[told], sample);
             told++)
            program_changed(programs, &contents->others.data[told]);
        program_sampled(programs, sample);
    }
}

/* The records lie where the recording begins, or nearly so. */
static void give_back(const struct csp_recording *recording)
{
    const struct csp_first_samples *samples = &csp_recording_contents(recording)->first_samples;
    const uint8_t *from = NULL, *to = NULL;
    for (size_t i = 0; i < samples->list.len; i++) {
        const uint8_t *body = samples->list.data[i].body;
        from = !from || body < from ? body : from;
        to = !to || body > to ? body : to;
    }
    if (from)
        csp_perfdata_done(csp_recording_perfdata(recording), from, to);
}

static size_t highest(const uint64_t *counts, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (counts[i] > counts[best])
            best = i;
    return best;
}

uint32_t csp_recording_most_sampled(struct csp_recording *recording, const struct csp_image **image)
{
    size_t files = csp_spaces_binary_count(csp_recording_spaces(recording));
    struct programs programs = {
        .recording = recording,
        .samples = csp_calloc(files + 1, sizeof *programs.samples),
        .images = csp_calloc(files + 1, sizeof *programs.images),
    };
    follow(&programs);
    give_back(recording);
    size_t best = highest(programs.samples, files);
    uint32_t number = programs.samples[best] ? (uint32_t)best : CSP_NO_PROGRAM;
    *image = programs.images[best];
    csp_map_free(&programs.of_process);
    free(programs.samples);
    free(programs.images);
    return number;
}

int csp_recording_main_program(struct csp_recording *recording, const char **path,
                               struct csp_diag *diag)
{
    uint32_t number;
    return csp_recording_main_binary(recording, &number, path, diag);
}

int csp_recording_main_binary(struct csp_recording *recording, uint32_t *number, const char **path,
                              struct csp_diag *diag)
{
    const char *name = csp_perfdata_path(csp_recording_perfdata(recording));
    const struct csp_image *image;
    *number = csp_recording_most_sampled(recording, &image);
    if (*number == CSP_NO_PROGRAM)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no samples with callchains that would tell which program to make "
                        "a profile of: name it with -b",
                        name);
    if (!image) {
        const char *program = csp_spaces_binary(csp_recording_spaces(recording), *number)->path;
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: the program it is of, %s, %s: name its file with -b, "
                        "or a directory that has it with --symfs",
                        name, program,
                        access(program, F_OK) == 0
                            ? "is another here than was recorded (built again since?)"
                            : "is not found here");
    }
    *path = image->path;
    return 0;
}
