#include "collect/target.h"

#include "base/buf.h"
#include "collect/cores.h"
#include "collect/kernel_event.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "sys/bus/event_source/devices"
#define CORESIGHT "sys/bus/coresight/devices"

enum { ARM_CYCLES = 0x11 }; /* CPU_CYCLES, Arm ARM D13.12 */

/* "config1:0-31" or "config:28" */
static void read_format(const char *root, struct csp_pmu_format *format, const char *name)
{
    char *text = csp_tree_text(root, DEVICES "/cs_etm/format/%s", name);
    unsigned word = 0, low, high;
    *format = (struct csp_pmu_format){0};
    if (!text || strncmp(text, "config", 6) != 0) {
        free(text);
        return;
    }
    const char *at = text + 6;
    if (*at >= '1' && *at <= '3')
        word = (unsigned)(*at++ - '0');
    int fields = sscanf(at, ":%u-%u", &low, &high);
    if (fields == 1)
        high = low;
    if (fields >= 1 && low <= high && high < 64)
        *format = (struct csp_pmu_format){true, (uint8_t)word, (uint8_t)low, (uint8_t)high};
    free(text);
}

void csp_pmu_format_set(const struct csp_pmu_format *format, uint64_t words[4], uint64_t value)
{
    uint64_t mask = UINT64_MAX >> (63 - (format->high - format->low));
    words[format->word] &= ~(mask << format->low);
    words[format->word] |= (value & mask) << format->low;
}

/* "event=0x4011" of events/, or "configid=0x…" */
static bool read_event(const char *root, const char *pmu, const char *name, const char *key,
                       uint64_t *value)
{
    char *text = csp_tree_text(root, DEVICES "/%s/events/%s", pmu, name);
    char *found = text ? strstr(text, key) : NULL;
    if (found)
        *value = strtoull(found + strlen(key), NULL, 0);
    free(text);
    return found != NULL;
}

/* perf_event's own list of CPUs: `cpus` for core PMUs, `cpumask` for others. */
static void read_cpus(const char *root, const char *pmu, struct csp_cpu_list *cpus)
{
    char *text = csp_tree_text(root, DEVICES "/%s/cpus", pmu);
    *cpus = (struct csp_cpu_list){0};
    if (text)
        csp_cpu_list_parse(cpus, text);
    free(text);
}

static bool is_core_pmu(const struct csp_target *target, const char *name)
{
    return !strncmp(name, "armv8", 5) || !strncmp(name, "armv9", 5) || !strcmp(name, "cpu") ||
           !strcmp(name, "cpu_core") || !strcmp(name, "cpu_atom") ||
           csp_tree_has(target->root, DEVICES "/%s/events/trcextout0", name);
}

/* arm_pmu prints "enabled with armv8_pmuv3_0 PMU driver, 7 (0,8000003f) counters available": the
 * cycle counter is one of them. */
static uint32_t counters_of_log(const struct csp_target *target, const char *pmu)
{
    char *log = csp_tree_text(target->root, "dmesg");
    char *wanted = csp_asprintf("enabled with %s PMU driver, ", pmu);
    const char *found = log ? strstr(log, wanted) : NULL;
    unsigned long total = found ? strtoul(found + strlen(wanted), NULL, 10) : 0;
    free(wanted);
    free(log);
    return total > 1 && total < 64 ? (uint32_t)total - 1 : 0;
}

static void read_core_pmu(struct csp_target *target, const char *name)
{
    struct csp_core_pmu pmu = {.name = csp_strdup(name)};
    int64_t type = 0;
    uint64_t unused;
    csp_tree_number(target->root, &type, DEVICES "/%s/type", name);
    pmu.type = (uint32_t)type;
    read_cpus(target->root, name, &pmu.cpus);
    bool all = !pmu.cpus.cpus.len;
    for (size_t i = 0; all && i < target->online.cpus.len; i++)
        csp_vec_push(&pmu.cpus.cpus, target->online.cpus.data[i]);
    pmu.cycles = read_event(target->root, name, "cpu_cycles", "event=", &unused) ||
                 read_event(target->root, name, "cpu-cycles", "event=", &unused);
    for (int i = 0; i < 4; i++) {
        char event[] = "trcextout0";
        event[sizeof event - 2] = (char)('0' + i);
        pmu.trcextout[i] =
            read_event(target->root, name, event, "event=", &pmu.trcextout_config[i]);
    }
    csp_tree_number(target->root, &pmu.branch_records, DEVICES "/%s/caps/branches", name);
    if (!target->live)
        pmu.counters = counters_of_log(target, name);
    else if (pmu.cycles && pmu.cpus.cpus.len && !strcmp(target->arch, "aarch64"))
        pmu.counters = csp_kernel_counters(pmu.type, pmu.cpus.cpus.data[0], ARM_CYCLES);
    csp_vec_push(&target->pmus, pmu);
}

static void read_sinks(struct csp_target *target)
{
    struct csp_tree_names names;
    csp_tree_list(target->root, &names, DEVICES "/cs_etm/sinks");
    for (size_t i = 0; i < names.names.len; i++) {
        const char *name = names.names.data[i];
        int64_t enabled = 0;
        struct csp_sink sink = {.name = csp_strdup(name), .kind = CSP_SINK_OTHER};
        if (!strncmp(name, "trbe", 4))
            sink.kind = CSP_SINK_TRBE;
        else if (!strncmp(name, "tmc_etr", 7))
            sink.kind = CSP_SINK_ETR;
        csp_tree_number(target->root, &enabled, CORESIGHT "/%s/enable_sink", name);
        sink.enabled_by_sysfs = enabled != 0;
        csp_vec_push(&target->trace.sinks, sink);
    }
    csp_tree_names_free(&names);
}

static void read_configs(struct csp_target *target)
{
    struct csp_tree_names names;
    csp_tree_list(target->root, &names, DEVICES "/cs_etm/events");
    for (size_t i = 0; i < names.names.len; i++) {
        struct csp_coresight_config config = {0};
        if (!read_event(target->root, "cs_etm", names.names.data[i], "configid=", &config.id))
            continue;
        config.name = csp_strdup(names.names.data[i]);
        csp_vec_push(&target->trace.configs, config);
    }
    csp_tree_names_free(&names);
}

/* TRCDEVARCH of an ETE: architecture version 5, part A13 (Arm ARM D25). */
static bool is_ete(uint64_t devarch)
{
    return (devarch >> 12 & 0xf) == 5 && (devarch & 0xfff) == 0xa13;
}

static void read_trace_unit(struct csp_target *target, uint32_t cpu)
{
    struct csp_trace_pmu *trace = &target->trace;
    int64_t devarch = 0, source = 0, enabled = 0;
    if (!csp_tree_has(target->root, DEVICES "/cs_etm/cpu%u", cpu))
        return;
    csp_tree_number(target->root, &devarch, DEVICES "/cs_etm/cpu%u/mgmt/trcdevarch", cpu);
    csp_tree_number(target->root, &source, DEVICES "/cs_etm/cpu%u/ts_source", cpu);
    csp_tree_number(target->root, &enabled, DEVICES "/cs_etm/cpu%u/enable_source", cpu);
    if (trace->cpus.cpus.len && trace->ts_source != source)
        source = -2;
    trace->ts_source = source;
    trace->ete_count += is_ete((uint64_t)devarch);
    trace->busy_units += enabled != 0;
    csp_vec_push(&trace->cpus.cpus, cpu);
}

static void read_trace(struct csp_target *target)
{
    static const char *const fields[CSP_ETM_FIELDS] = {"contextid", "timestamp", "preset", "sinkid",
                                                       "configid"};
    struct csp_trace_pmu *trace = &target->trace;
    int64_t type = 0;
    trace->present = csp_tree_number(target->root, &type, DEVICES "/cs_etm/type");
    trace->type = (uint32_t)type;
    trace->hidden_by_firmware =
        !trace->present && csp_tree_has(target->root, "sys/bus/coresight") &&
        (csp_tree_has(target->root, "sys/module/coresight_etm4x") ||
         csp_tree_has(target->root, "sys/bus/amba/drivers/coresight-etm4x"));
    if (!trace->present)
        return;
    for (int i = 0; i < CSP_ETM_FIELDS; i++)
        read_format(target->root, &trace->fields[i], fields[i]);
    for (size_t i = 0; i < target->online.cpus.len; i++)
        read_trace_unit(target, target->online.cpus.data[i]);
    read_sinks(target);
    read_configs(target);
    if (target->live)
        trace->snapshots = (enum csp_snapshots)csp_kernel_snapshots(trace->type);
}

static void read_kernel(struct csp_target *target)
{
    unsigned major, minor;
    target->release = csp_tree_text(target->root, "proc/sys/kernel/osrelease");
    if (!target->release)
        target->release = csp_strdup("");
    if (sscanf(target->release, "%u.%u", &major, &minor) == 2) {
        target->kernel_major = major;
        target->kernel_minor = minor;
    }
    char *config = csp_tree_text(target->root, "boot/config-%s", target->release);
    target->config_known = config && *target->release;
    target->pid_in_contextidr = config && strstr(config, "CONFIG_PID_IN_CONTEXTIDR=y");
    free(config);
}

static int64_t sysctl_of(const struct csp_target *target, const char *name)
{
    int64_t value = CSP_NOT_TOLD;
    csp_tree_number(target->root, &value, "proc/sys/kernel/%s", name);
    return value;
}

/* CAP_PERFMON is 38, CAP_SYS_ADMIN 21. */
static void read_access(struct csp_target *target)
{
    target->paranoid = sysctl_of(target, "perf_event_paranoid");
    target->mlock_kb = sysctl_of(target, "perf_event_mlock_kb");
    target->cpu_time_max_percent = sysctl_of(target, "perf_cpu_time_max_percent");
    target->max_sample_rate = sysctl_of(target, "perf_event_max_sample_rate");
    char *status = csp_tree_text(target->root, "proc/self/status");
    const char *effective = status ? strstr(status, "CapEff:") : NULL;
    if (effective) {
        uint64_t bits = strtoull(effective + strlen("CapEff:"), NULL, 16);
        target->privileged_known = true;
        target->privileged = bits >> 38 & 1 || bits >> 21 & 1;
    }
    free(status);
    if (!target->live)
        return;
    /* The first namespace's inode number is fixed: PROC_PID_INIT_INO, linux/proc_ns.h. */
    char link[64] = "";
    target->other_pid_namespace = readlink("/proc/self/ns/pid", link, sizeof link - 1) > 0 &&
                                  strcmp(link, "pid:[4026531836]") != 0;
    target->perf_blocked = !csp_kernel_event_allowed();
}

static bool contains(const char *text, const char *part)
{
    return text && strstr(text, part);
}

static void read_place(struct csp_target *target)
{
    char *vendor = csp_tree_text(target->root, "sys/class/dmi/id/sys_vendor");
    char *product = csp_tree_text(target->root, "sys/class/dmi/id/product_name");
    char *hypervisor = csp_tree_text(target->root, "sys/hypervisor/type");
    char *cpuinfo = csp_tree_text(target->root, "proc/cpuinfo");
    if (contains(vendor, "Amazon"))
        target->cloud = CSP_CLOUD_AWS;
    else if (contains(vendor, "Google"))
        target->cloud = CSP_CLOUD_GCP;
    else if (contains(vendor, "Microsoft"))
        target->cloud = CSP_CLOUD_AZURE;
    bool metal = contains(product, ".metal") || contains(product, "-metal");
    target->virtual_machine =
        !metal && (target->cloud != CSP_CLOUD_NONE || hypervisor || contains(vendor, "QEMU") ||
                   contains(product, "KVM") || contains(cpuinfo, " hypervisor") ||
                   csp_tree_has(target->root, "proc/device-tree/hypervisor"));
    target->container =
        csp_tree_has(target->root, ".dockerenv") || csp_tree_has(target->root, "run/.containerenv");
    target->product = product ? product : csp_strdup("");
    free(vendor);
    free(hypervisor);
    free(cpuinfo);
}

/* MIDR from sysfs (arm64, Linux 4.7), or from cpuinfo's words. */
static uint64_t midr_of(const struct csp_target *target, uint32_t cpu)
{
    int64_t midr = 0;
    csp_tree_number(target->root, &midr,
                    "sys/devices/system/cpu/cpu%u/regs/identification/midr_el1", cpu);
    return (uint64_t)midr;
}

static char *core_name(const struct csp_target *target, uint64_t midr)
{
    const struct csp_core *core = csp_core_find(midr);
    if (core)
        return csp_strdup(core->name);
    if (midr)
        return csp_asprintf("core with MIDR 0x%llx", (unsigned long long)midr);
    char *cpuinfo = csp_tree_text(target->root, "proc/cpuinfo");
    const char *model = cpuinfo ? strstr(cpuinfo, "model name") : NULL;
    const char *colon = model ? strchr(model, ':') : NULL;
    char *name = colon ? csp_strndup(colon + 2, strcspn(colon + 2, "\n"))
                       : csp_strdup("core of a kind that the kernel does not tell");
    free(cpuinfo);
    return name;
}

static void read_cpus_by_kind(struct csp_target *target)
{
    char *online = csp_tree_text(target->root, "sys/devices/system/cpu/online");
    if (online)
        csp_cpu_list_parse(&target->online, online);
    free(online);
    for (size_t i = 0; i < target->online.cpus.len; i++) {
        uint32_t cpu = target->online.cpus.data[i];
        uint64_t midr = midr_of(target, cpu);
        size_t group = 0;
        /* Revisions of one core are one kind. */
        while (group < target->groups.len &&
               (target->groups.data[group].midr >> 4) << 4 != (midr >> 4) << 4)
            group++;
        if (group == target->groups.len)
            csp_vec_push(&target->groups,
                         (struct csp_core_group){.midr = midr, .name = core_name(target, midr)});
        csp_vec_push(&target->groups.data[group].cpus.cpus, cpu);
    }
}

static char *read_arch(const struct csp_target *target)
{
    char *arch = csp_tree_text(target->root, "proc/sys/kernel/arch"); /* Linux 6.1 */
    if (arch)
        return arch;
    if (target->live) {
#if defined __aarch64__
        return csp_strdup("aarch64");
#elif defined __x86_64__
        return csp_strdup("x86_64");
#endif
    }
    char *cpuinfo = csp_tree_text(target->root, "proc/cpuinfo");
    const char *name = "unknown";
    if (contains(cpuinfo, "CPU implementer"))
        name = "aarch64";
    else if (contains(cpuinfo, "vendor_id"))
        name = "x86_64";
    free(cpuinfo);
    return csp_strdup(name);
}

void csp_target_read(struct csp_target *target, const char *root)
{
    *target = (struct csp_target){
        .root = csp_strdup(root), .live = !*root, .trace.pulse = &csp_pulses[0]};
    target->has_sysfs = csp_tree_has(root, "sys/devices/system/cpu");
    target->arch = read_arch(target);
    read_kernel(target);
    read_cpus_by_kind(target);
    struct csp_tree_names names;
    csp_tree_list(root, &names, DEVICES);
    for (size_t i = 0; i < names.names.len; i++) {
        if (is_core_pmu(target, names.names.data[i]))
            read_core_pmu(target, names.names.data[i]);
        target->spe |= !strncmp(names.names.data[i], "arm_spe", 7);
    }
    csp_tree_names_free(&names);
    read_trace(target);
    read_access(target);
    read_place(target);
}

void csp_target_free(struct csp_target *target)
{
    for (size_t i = 0; i < target->groups.len; i++) {
        free(target->groups.data[i].name);
        csp_cpu_list_free(&target->groups.data[i].cpus);
    }
    for (size_t i = 0; i < target->pmus.len; i++) {
        free(target->pmus.data[i].name);
        csp_cpu_list_free(&target->pmus.data[i].cpus);
    }
    for (size_t i = 0; i < target->trace.sinks.len; i++)
        free(target->trace.sinks.data[i].name);
    for (size_t i = 0; i < target->trace.configs.len; i++)
        free(target->trace.configs.data[i].name);
    csp_vec_free(&target->groups);
    csp_vec_free(&target->pmus);
    csp_vec_free(&target->trace.sinks);
    csp_vec_free(&target->trace.configs);
    csp_cpu_list_free(&target->trace.cpus);
    csp_cpu_list_free(&target->online);
    free(target->root);
    free(target->arch);
    free(target->release);
    free(target->product);
}
