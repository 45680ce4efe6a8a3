#include "decode/perfdata_output.h"

#include "base/alloc.h"
#include "decode/recording_contents.h"
#include "perfdata/perfdata.h"

enum {
    EVENT_ID = 1,
    BRANCH_USER = 1 << 0, /* enum perf_branch_sample_type */
    BRANCH_ANY = 1 << 3,
    BRANCH_TYPE_SHIFT = 20,
    MOST_BRANCHES = 2000, /* a record has 65,528 bytes, the callchain's included */
    MOST_FRAMES = 1000,
};

struct csp_perfdata_output {
    struct csp_writer *writer;
    struct csp_perfdata_output_stats stats;
    CSP_VEC(uint64_t) callchain;
    CSP_VEC(struct csp_writer_branch) branches;
};

/* perf_branch_entry.type, PERF_BR_* of linux/perf_event.h */
static uint64_t branch_type(enum csp_branch_kind kind)
{
    switch (kind) {
    case CSP_BRANCH_CONDITIONAL:
        return 1;
    case CSP_BRANCH_DIRECT:
        return 2;
    case CSP_BRANCH_INDIRECT:
        return 3;
    case CSP_BRANCH_CALL:
        return 4;
    case CSP_BRANCH_INDIRECT_CALL:
        return 5;
    case CSP_BRANCH_RETURN:
        return 6;
    case CSP_BRANCH_EXCEPTION_RETURN:
        return 11;
    case CSP_BRANCH_UNKNOWN:
    case CSP_BRANCH_EXCEPTION:
        break;
    }
    return 0;
}

static void write_tasks(struct csp_perfdata_output *output, const struct csp_recording *recording)
{
    const struct csp_recording_contents *contents = csp_recording_contents(recording);
    for (size_t i = 0; i < contents->others.len; i++) {
        const struct csp_record *record = &contents->others.data[i];
        struct csp_writer_id id = csp_copy_id(record);
        id.attr = 0;
        id.id = EVENT_ID;
        csp_copy_task_record(output->writer, &id, record);
    }
}

int csp_perfdata_output_open(struct csp_perfdata_output **made, const char *path,
                             struct csp_recording *recording, struct csp_diag *diag)
{
    static const uint64_t ids[] = {EVENT_ID};
    static const struct csp_attr attr = {
        .type = 0, /* PERF_TYPE_HARDWARE, cycles */
        .name = "cycles:u",
        .sample_period = 1,
        .sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME |
                       CSP_SAMPLE_CPU | CSP_SAMPLE_PERIOD | CSP_SAMPLE_CALLCHAIN |
                       CSP_SAMPLE_BRANCH_STACK,
        .branch_sample_type = BRANCH_USER | BRANCH_ANY,
        .flags = 1ull << CSP_ATTR_EXCLUDE_KERNEL | 1ull << CSP_ATTR_EXCLUDE_HV |
                 1ull << CSP_ATTR_MMAP | 1ull << CSP_ATTR_MMAP2 | 1ull << CSP_ATTR_COMM |
                 1ull << CSP_ATTR_TASK | 1ull << CSP_ATTR_SAMPLE_ID_ALL,
        .ids = ids,
        .id_count = 1,
    };
    struct csp_perfdata_output *output = csp_calloc(1, sizeof *output);
    *made = output;
    int error = csp_writer_open(&output->writer, path, &attr, 1, diag);
    if (error)
        return error;
    csp_copy_info(output->writer, csp_perfdata_info(csp_recording_perfdata(recording)));
    write_tasks(output, recording);
    return 0;
}

static void make_callchain(struct csp_perfdata_output *output, const struct csp_sample *sample)
{
    output->callchain.len = 0;
    csp_vec_push(&output->callchain, CSP_CONTEXT_USER);
    for (uint32_t i = 0; i < sample->callchain_len && i < MOST_FRAMES; i++)
        csp_vec_push(&output->callchain, sample->callchain[i]);
}

static void make_branches(struct csp_perfdata_output *output, const struct csp_sample *sample)
{
    output->branches.len = 0;
    for (uint32_t i = 0; i < sample->branch_len && i < MOST_BRANCHES; i++) {
        const struct csp_branch *branch = &sample->branches[i];
        csp_vec_push(&output->branches, (struct csp_writer_branch){branch->from, branch->to,
                                                                   CSP_BRANCH_FLAG_PREDICTED |
                                                                       branch_type(branch->kind)
                                                                           << BRANCH_TYPE_SHIFT});
    }
    output->stats.cut_stacks += sample->branch_len > MOST_BRANCHES;
}

int csp_perfdata_output_sample(void *user, const struct csp_sample *sample)
{
    struct csp_perfdata_output *output = user;
    if (!sample->branch_len) {
        output->stats.empty_stacks++;
        return 0;
    }
    make_callchain(output, sample);
    make_branches(output, sample);
    const struct csp_writer_id id = {
        .pid = sample->pid,
        .tid = sample->tid,
        .cpu = sample->cpu,
        .time = sample->time,
        .id = EVENT_ID,
    };
    const struct csp_writer_sample written = {
        .misc = CSP_MISC_CPUMODE_USER,
        .ip = sample->callchain_len ? sample->callchain[0] : sample->branches[0].to,
        .period = sample->count,
        .callchain = output->callchain.data,
        .callchain_len = (uint32_t)output->callchain.len,
        .branches = output->branches.data,
        .branch_len = (uint32_t)output->branches.len,
    };
    csp_write_sample(output->writer, &id, &written);
    output->stats.samples++;
    return 0;
}

int csp_perfdata_output_close(struct csp_perfdata_output *output,
                              struct csp_perfdata_output_stats *stats, struct csp_diag *diag)
{
    int error = output->writer ? csp_writer_close(output->writer, diag) : 0;
    *stats = output->stats;
    csp_vec_free(&output->callchain);
    csp_vec_free(&output->branches);
    free(output);
    return error;
}
