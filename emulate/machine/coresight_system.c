#include "emulate/machine/coresight_system.h"

#include "emulate/machine/etm4_registers.h"

static volatile uint32_t *page(const struct csp_coresight_system *system, unsigned offset)
{
    return csp_guest_ram_at(&system->ram, CSP_MACHINE_DEVICES + offset, CSP_MACHINE_PAGE);
}

static void flush_sources(void *user)
{
    struct csp_coresight_system *system = user;
    for (unsigned i = 0; i < system->cpus; i++)
        csp_etm4_unit_drain(&system->etms[i]);
}

void csp_coresight_system_reset(struct csp_coresight_system *system, unsigned cpus)
{
    static const struct csp_coresight_identity funnel = {
        .part = 0x000bb908, .type = 0x12 /* trace link, funnel */, .authentication = 0xcc};
    static const char *const names[] = {"etm0", "etm1", "etm2", "etm3",
                                        "etm4", "etm5", "etm6", "etm7"};
    system->cpus = cpus;
    csp_coresight_identify(&system->funnel, "funnel", page(system, CSP_MACHINE_FUNNEL), &funnel);
    csp_tmc_etr_reset(&system->etr, page(system, CSP_MACHINE_ETR), &system->ram);
    system->etr.flush_sources = flush_sources;
    system->etr.user = system;
    for (unsigned i = 0; i < cpus; i++) {
        struct csp_etm4_unit *etm = &system->etms[i];
        csp_etm4_unit_reset(etm, names[i], page(system, i * CSP_MACHINE_PAGE));
        etm->sink = &system->etr;
        etm->funnel = &system->funnel;
        etm->port = i;
        system->processors[i] = (struct csp_processor){
            .index = i,
            .etm = etm,
            .threads = &system->threads,
            .with_truth = system->truth != NULL,
        };
    }
    if (system->truth)
        fputs("csprof-machine-truth 1\n", system->truth);
}

static void store_etm(struct csp_coresight_system *system, unsigned number, unsigned offset,
                      uint32_t value, uint64_t now)
{
    struct csp_etm4_unit *etm = &system->etms[number];
    struct csp_processor *processor = &system->processors[number];
    bool enabled = etm->unit.enabled;
    csp_etm4_unit_store(etm, offset, value, now);
    if (!enabled && etm->unit.enabled) {
        csp_etm4_unit_context(etm, processor->context_id);
        csp_processor_enabled(processor, now);
    } else if (enabled && !etm->unit.enabled) {
        csp_processor_disabled(processor, now, &system->truth_out);
    }
    if (system->truth && system->truth_out.len) {
        fwrite(system->truth_out.data, 1, system->truth_out.len, system->truth);
        system->truth_out.len = 0;
    }
}

void csp_coresight_system_store(struct csp_coresight_system *system, unsigned cpu, uint64_t address,
                                uint64_t now)
{
    unsigned at = (unsigned)(address - CSP_MACHINE_DEVICES);
    unsigned number = at / CSP_MACHINE_PAGE, offset = at % CSP_MACHINE_PAGE & ~3u;
    uint32_t value = page(system, number * CSP_MACHINE_PAGE)[offset / 4];
    const char *name = "none";
    if (number < system->cpus) {
        name = system->etms[number].device.name;
        store_etm(system, number, offset, value, now);
    } else if (at >= CSP_MACHINE_ETR) {
        name = "etr";
        csp_tmc_etr_store(&system->etr, offset, value);
    } else if (at >= CSP_MACHINE_FUNNEL && at < CSP_MACHINE_FUNNEL + CSP_MACHINE_PAGE) {
        name = "funnel";
        csp_coresight_store(&system->funnel, offset, value);
    }
    if (system->log)
        fprintf(system->log, "%llu cpu%u %s+%03x <- %08x\n", (unsigned long long)now, cpu, name,
                offset, value);
}

void csp_coresight_system_mark(struct csp_coresight_system *system, uint64_t number)
{
    if (system->truth)
        fprintf(system->truth, "mark %llu\n", (unsigned long long)number);
}

static void complain(const char *what, uint64_t count)
{
    if (count)
        fprintf(stderr, "machine: %s: %llu\n", what, (unsigned long long)count);
}

void csp_coresight_system_finish(struct csp_coresight_system *system)
{
    complain("bytes of trace that came while the ETR was not capturing", system->etr.lost_bytes);
    complain("bytes of trace for a buffer that is not in RAM", system->etr.rejected_bytes);
    complain("stores to the ETR while its lock was on", system->etr.device.locked_stores);
    complain("stores to the funnel while its lock was on", system->funnel.locked_stores);
    for (unsigned i = 0; i < system->cpus; i++) {
        const struct csp_etm4_unit *etm = &system->etms[i];
        complain("bytes of trace that the funnel did not let through", etm->blocked_bytes);
        complain("stores to an ETM while its lock was on", etm->device.locked_stores);
        complain("enablings to trace the kernel, which is not played", etm->kernel_enables);
        complain("blocks that began where the flow did not lead", system->processors[i].surprises);
        if (system->truth)
            fprintf(system->truth, "total %u %llu\n", i,
                    (unsigned long long)system->processors[i].user_instructions);
    }
    if (!system->truth)
        return;
    fputs("done\n", system->truth);
    if (fclose(system->truth) != 0)
        perror("machine: the truth is not complete");
    system->truth = NULL;
}
