/* AUXTRACE_INFO of a CoreSight recording: tools/perf/util/cs-etm.h. */
#include "perfdata/auxtrace.h"

#include "base/bytes.h"

#include <inttypes.h>

enum {
    INFO_WORDS = 3,   /* version; PMU type and number of CPUs; snapshot */
    ETMV3_PARAMS = 4, /* of a block without a parameter count (version 0) */
    ETMV4_PARAMS_V0 = 7,
    ARCHPART_ETMV4 = 0x4a13, /* TRCDEVARCH.ARCHID */
    ARCHPART_ETE = 0x5a13,
};

bool csp_record_auxtrace_info(const struct csp_record *record, enum csp_auxtrace_type *type,
                              const uint8_t **words, size_t *word_count)
{
    if (record->type != CSP_RECORD_AUXTRACE_INFO || record->body_size < 8)
        return false;
    uint32_t number = csp_load32(record->body);
    *type = number <= CSP_AUXTRACE_ARM_SPE ? (enum csp_auxtrace_type)number : CSP_AUXTRACE_UNKNOWN;
    *words = record->body + 8;
    *word_count = (record->body_size - 8) / 8;
    return true;
}

static bool magic_known(uint64_t magic)
{
    return magic == CSP_CS_ETM_MAGIC_ETMV3 || magic == CSP_CS_ETM_MAGIC_ETMV4 ||
           magic == CSP_CS_ETM_MAGIC_ETE;
}

/* TRCDEVARCH decides when it is there: an ETMv4 may be described in ETE's metadata. */
static enum csp_trace_unit unit_of(const struct csp_cs_etm_cpu *cpu)
{
    if (cpu->magic == CSP_CS_ETM_MAGIC_ETMV3)
        return CSP_UNIT_ETMV3;
    if (cpu->magic == CSP_CS_ETM_MAGIC_ETMV4)
        return CSP_UNIT_ETMV4;
    switch (cpu->params[CSP_ETE_DEVARCH] & 0xffff) {
    case ARCHPART_ETMV4:
        return CSP_UNIT_ETMV4;
    case ARCHPART_ETE:
        return CSP_UNIT_ETE;
    default:
        return cpu->params[CSP_ETE_DEVARCH] ? CSP_UNIT_UNKNOWN : CSP_UNIT_ETE;
    }
}

/* Only small values name a source: others (all ones in some recordings) mean that there is none. */
static int64_t ts_source_of(const struct csp_cs_etm_cpu *cpu)
{
    unsigned index = cpu->magic == CSP_CS_ETM_MAGIC_ETE ? CSP_ETE_TS_SOURCE : CSP_ETM_TS_SOURCE;
    if (cpu->magic == CSP_CS_ETM_MAGIC_ETMV3 || index >= cpu->param_count)
        return 0;
    return cpu->params[index] <= 3 ? (int64_t)cpu->params[index] : -1;
}

/* Valid trace IDs are 1 … 0x6f; perf writes other values for "not known yet" (version 2). */
static void take_trace_id(struct csp_cs_etm_cpu *cpu)
{
    uint64_t id = cpu->params[CSP_ETM_TRACEIDR];
    cpu->trace_id = id > 0 && id < 0x70 ? (uint8_t)id : 0;
}

static bool take_cpu(struct csp_cursor *at, uint64_t version, struct csp_cs_etm_cpu *cpu)
{
    *cpu = (struct csp_cs_etm_cpu){.magic = csp_cursor_u64(at)};
    cpu->cpu = (uint32_t)csp_cursor_u64(at);
    uint64_t count = version                                ? csp_cursor_u64(at)
                     : cpu->magic == CSP_CS_ETM_MAGIC_ETMV3 ? ETMV3_PARAMS
                                                            : ETMV4_PARAMS_V0;
    if (at->overrun || !magic_known(cpu->magic) || count > csp_cursor_left(at) / 8)
        return false;
    cpu->param_count = (uint32_t)count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = csp_cursor_u64(at);
        if (i < CSP_CS_ETM_PARAMS_MAX)
            cpu->params[i] = value;
    }
    cpu->unit = unit_of(cpu);
    cpu->ts_source = ts_source_of(cpu);
    take_trace_id(cpu);
    return true;
}

int csp_cs_etm_info_parse(struct csp_cs_etm_info *info, const struct csp_record *record,
                          const char *path, struct csp_diag *diag)
{
    enum csp_auxtrace_type type;
    const uint8_t *words;
    size_t word_count;
    *info = (struct csp_cs_etm_info){0};
    if (!csp_record_auxtrace_info(record, &type, &words, &word_count) ||
        type != CSP_AUXTRACE_CS_ETM || word_count < INFO_WORDS)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset %" PRIu64
                        ": AUXTRACE_INFO is no CoreSight configuration, or is "
                        "too short for one",
                        path, record->offset);
    struct csp_cursor at = csp_cursor(words, 8 * word_count);
    info->version = csp_cursor_u64(&at);
    uint64_t pmu = csp_cursor_u64(&at);
    info->pmu_type = (uint32_t)(pmu >> 32);
    info->snapshot = csp_cursor_u64(&at);
    if (info->version > 2)
        return csp_fail(diag, CSP_ERR_UNSUPPORTED,
                        "%s: offset %" PRIu64 ": AUXTRACE_INFO of version %" PRIu64
                        ", expected 0, 1 or 2; the recording is of a newer perf",
                        path, record->offset, info->version);
    for (uint32_t left = (uint32_t)pmu; left; left--) {
        struct csp_cs_etm_cpu cpu;
        if (!take_cpu(&at, info->version, &cpu)) {
            size_t read = info->cpus.len;
            csp_cs_etm_info_free(info);
            return csp_fail(diag, CSP_ERR_INPUT,
                            "%s: offset %" PRIu64
                            ": AUXTRACE_INFO should describe %u CPUs; that of "
                            "number %zu is cut short or has an unknown magic (%#" PRIx64 ")",
                            path, record->offset, (uint32_t)pmu, read, cpu.magic);
        }
        csp_vec_push(&info->cpus, cpu);
    }
    return 0;
}

static struct csp_cs_etm_cpu *find_cpu(const struct csp_cs_etm_info *info, uint32_t cpu)
{
    for (size_t i = 0; i < info->cpus.len; i++)
        if (info->cpus.data[i].cpu == cpu)
            return &info->cpus.data[i];
    return NULL;
}

bool csp_cs_etm_info_hw_id(struct csp_cs_etm_info *info, uint32_t cpu,
                           const struct csp_hw_id_event *event)
{
    struct csp_cs_etm_cpu *found = find_cpu(info, cpu);
    if (!found)
        return false;
    if (event->trace_id > 0 && event->trace_id < 0x70)
        found->trace_id = event->trace_id;
    found->sink_id = event->sink_id;
    found->hw_id_seen = true;
    return true;
}

const struct csp_cs_etm_cpu *csp_cs_etm_info_cpu(const struct csp_cs_etm_info *info, uint32_t cpu)
{
    return find_cpu(info, cpu);
}

void csp_cs_etm_info_free(struct csp_cs_etm_info *info)
{
    csp_vec_free(&info->cpus);
    *info = (struct csp_cs_etm_info){0};
}
