#include "emulate/machine/etm4_unit.h"

#include "emulate/machine/etm4_registers.h"

enum {
    STATR_IDLE = 1 << 0,
    STATR_STABLE = 1 << 1,
    OSLSR_IMPLEMENTED = 1 << 3, /* OSLM 0b10 */
    OSLSR_LOCKED = 1 << 1,
    VICTLR_EXCLUDE_EL0 = 1 << 20,
    VICTLR_EXCLUDE_EL1 = 1 << 21,
    BBCTLR_INCLUDE = 1 << 8,

    EVENTS = 4,
    /* Virtual counter: 62.5 MHz in QEMU's virt machine, where a cycle is 1 ns. */
    CYCLES_PER_TICK = 16,
    /* Whole frames: 14 bytes beside the source ID, then 15 a frame. */
    HANDOVER = 14 + 15 * 64,
};

/* TRCIDR0: what the core has, and four events. TRCIDR3: EL0 to EL2, EL3 in secure state, stalling,
 * a programmable synchronisation period, cycle counts from 4. TRCIDR4: 4 pairs of address
 * comparators, 8 of selectors, one each of single-shot, context and VM identifier comparators.
 * TRCIDR5: 2 counters, 4 sequencer states, 7-bit trace IDs. */
static const struct {
    uint16_t offset;
    uint32_t value;
} identification[] = {
    {TRCIDR0, CSP_CORE_IDR0 | (EVENTS - 1) << 10},
    {TRCIDR1, CSP_CORE_IDR1_ETMV4},
    {TRCIDR2, CSP_CORE_IDR2},
    {TRCIDR3, 0x0d7b0004},
    {TRCIDR4, 0x11170004},
    {TRCIDR5, 0x28070000},
    {TRCIDR8, CSP_CORE_IDR8},
    {TRCSTATR, STATR_IDLE | STATR_STABLE},
    {TRCPDSR, 3}, /* powered, and was before */
    {TRCOSLSR, OSLSR_IMPLEMENTED | OSLSR_LOCKED},
};

void csp_etm4_unit_reset(struct csp_etm4_unit *etm, const char *name, volatile uint32_t *registers)
{
    static const struct csp_coresight_identity identity = {
        .part = 0x000bb95d,         /* one that Linux knows as an ETMv4 */
        .type = 0x13,               /* trace source, processor */
        .architecture = 0x47724a13, /* ETMv4.2 */
        .authentication = CSP_CORE_AUTHSTATUS,
    };
    *etm = (struct csp_etm4_unit){0};
    csp_coresight_identify(&etm->device, name, registers, &identity);
    for (unsigned i = 0; i < sizeof identification / sizeof *identification; i++)
        csp_coresight_set(&etm->device, identification[i].offset, identification[i].value);
}

static uint32_t get(const struct csp_etm4_unit *etm, unsigned offset)
{
    return csp_coresight_get(&etm->device, offset);
}

static void load_resources(struct csp_etm4_unit *etm)
{
    struct csp_etm4_resources *resources = &etm->resources;
    for (unsigned i = 0; i < CSP_ETM4_SELECTORS; i++)
        resources->selectors[i] = get(etm, TRCRSCTLR0 + 4 * i);
    etm->uses_resources = false;
    for (unsigned i = 0; i < CSP_ETM4_COUNTERS; i++) {
        resources->counters[i] = (struct csp_etm4_counter){
            .value = get(etm, TRCCNTVR0 + 4 * i) & 0xffff,
            .reload = get(etm, TRCCNTRLDVR0 + 4 * i) & 0xffff,
            .control = get(etm, TRCCNTCTLR0 + 4 * i),
        };
        etm->uses_resources |= resources->counters[i].control != 0;
    }
    for (unsigned i = 0; i < CSP_ETM4_SEQUENCER_STATES - 1; i++) {
        resources->sequencer_events[i] = get(etm, TRCSEQEVR0 + 4 * i);
        etm->uses_resources |= resources->sequencer_events[i] != 0;
    }
    resources->sequencer_reset = get(etm, TRCSEQRSTEVR);
    resources->sequencer = get(etm, TRCSEQSTR) & 3;
}

static void save_resources(struct csp_etm4_unit *etm)
{
    for (unsigned i = 0; i < CSP_ETM4_COUNTERS; i++)
        csp_coresight_set(&etm->device, TRCCNTVR0 + 4 * i, etm->resources.counters[i].value);
    csp_coresight_set(&etm->device, TRCSEQSTR, etm->resources.sequencer);
}

/* The addresses that a pair of comparators spans. */
static struct csp_etm4_range range_of(const struct csp_etm4_unit *etm, unsigned pair, bool include)
{
    unsigned low = TRCACVR0 + 16 * pair, high = low + 8;
    return (struct csp_etm4_range){
        .first = get(etm, low) | (uint64_t)get(etm, low + 4) << 32,
        .last = get(etm, high) | (uint64_t)get(etm, high + 4) << 32,
        .include = include,
    };
}

/* Pairs of address comparators that TRCVIIECTLR names: included ones, then excluded ones. */
static void load_ranges(struct csp_etm4_unit *etm)
{
    uint32_t control = get(etm, TRCVIIECTLR);
    etm->range_count = 0;
    for (unsigned i = 0; i < 8; i++) {
        bool include = control >> i & 1, exclude = control >> (16 + i) & 1;
        if (include || exclude)
            etm->ranges[etm->range_count++] = range_of(etm, i, include);
    }
}

/* TRCBBCTLR: in its ranges branches are broadcast, or (mode 0) everywhere else. */
static bool broadcasts_at(const struct csp_etm4_unit *etm, uint64_t pc)
{
    bool inside = false;
    if (!(etm->unit.core.configr & CSP_CONFIGR_BRANCH_BROADCAST))
        return false;
    for (unsigned i = 0; i < 8; i++) {
        struct csp_etm4_range range = range_of(etm, i, true);
        inside |= etm->broadcast_control >> i & 1 && pc >= range.first && pc <= range.last;
    }
    return inside == (etm->broadcast_control & BBCTLR_INCLUDE ? true : false);
}

static bool in_ranges(const struct csp_etm4_unit *etm, uint64_t pc)
{
    bool any_include = false, included = false;
    for (unsigned i = 0; i < etm->range_count; i++) {
        const struct csp_etm4_range *range = &etm->ranges[i];
        bool inside = pc >= range->first && pc <= range->last;
        if (inside && !range->include)
            return false;
        any_include |= range->include;
        included |= inside;
    }
    return included || !any_include;
}

static void enable(struct csp_etm4_unit *etm, uint64_t cycles)
{
    uint32_t victlr = get(etm, TRCVICTLR);
    uint32_t syncpr = get(etm, TRCSYNCPR) & 31;
    load_resources(etm);
    load_ranges(etm);
    etm->trace_id = get(etm, TRCTRACEIDR) & 0x7f;
    etm->view_event = victlr & 0xff;
    etm->timestamp_event = get(etm, TRCTSCTLR) & 0xff;
    etm->output_event = get(etm, TRCEVENTCTL0R) >> 8 & 0xff;
    etm->traces_user = !(victlr & VICTLR_EXCLUDE_EL0);
    etm->traces_kernel = !(victlr & VICTLR_EXCLUDE_EL1);
    etm->kernel_enables += etm->traces_kernel;
    etm->cycles = cycles;
    etm->user_cycles = etm->output_cycles = 0;
    etm->unit.core.configr = get(etm, TRCCONFIGR);
    etm->unit.core.cycle_threshold = get(etm, TRCCCCTLR) & 0xfff;
    etm->broadcast_control = get(etm, TRCBBCTLR);
    etm->unit.timestamp_interval = 0;
    etm->unit.synchronisation_bytes = syncpr ? 1ull << syncpr : 0;
    csp_unit_enable(&etm->unit);
    csp_coresight_set(&etm->device, TRCSTATR, 0);
}

/* Resources go on while the unit is enabled, whatever is traced; output 1 is heard at EL0 alone. */
static void advance(struct csp_etm4_unit *etm, uint64_t cycles, bool user)
{
    struct csp_etm4_watch watches[] = {{.event = etm->timestamp_event},
                                       {.event = etm->output_event}};
    uint64_t passed = cycles > etm->cycles ? cycles - etm->cycles : 0;
    etm->cycles = cycles;
    if (etm->uses_resources)
        csp_etm4_advance(&etm->resources, passed, watches, 2);
    else if (csp_etm4_event(&etm->resources, etm->output_event))
        watches[1].cycles = passed;
    if (watches[0].cycles)
        etm->unit.next_timestamp = 0; /* due */
    if (user) {
        etm->user_cycles += passed;
        etm->output_cycles += watches[1].cycles;
    }
}

static void disable(struct csp_etm4_unit *etm, uint64_t cycles)
{
    if (etm->unit.enabled) {
        advance(etm, cycles, false);
        csp_unit_disable(&etm->unit);
        csp_etm4_unit_drain(etm);
        save_resources(etm);
    }
    csp_coresight_set(&etm->device, TRCSTATR, STATR_IDLE | STATR_STABLE);
}

void csp_etm4_unit_store(struct csp_etm4_unit *etm, unsigned offset, uint32_t value,
                         uint64_t cycles)
{
    /* Linux opens the OS lock before the software lock, so that must be possible. */
    if (offset != TRCOSLAR && csp_coresight_store(&etm->device, offset, value))
        return;
    switch (offset) {
    case TRCPRGCTLR:
        if (!(value & 1))
            disable(etm, cycles);
        else if (!etm->unit.enabled && !(get(etm, TRCOSLSR) & OSLSR_LOCKED))
            enable(etm, cycles);
        break;
    case TRCOSLAR:
        csp_coresight_set(&etm->device, TRCOSLSR,
                          OSLSR_IMPLEMENTED | (value & 1 ? OSLSR_LOCKED : 0));
        if (value & 1)
            disable(etm, cycles);
        break;
    default: /* configuration, or read-only */
        for (unsigned i = 0; i < sizeof identification / sizeof *identification; i++) {
            if (identification[i].offset == offset && offset >= TRCIDR8 && offset < TRCRSCTLR0)
                csp_coresight_set(&etm->device, offset, identification[i].value);
        }
        break;
    }
}

void csp_etm4_unit_drain(struct csp_etm4_unit *etm)
{
    struct csp_buf *out = &etm->unit.core.out;
    if (out->len) {
        if (csp_coresight_get(etm->funnel, 0) >> etm->port & 1)
            csp_tmc_etr_receive(etm->sink, etm->trace_id, out->data, out->len);
        else
            etm->blocked_bytes += out->len;
    }
    csp_unit_take(&etm->unit);
}

static void hand_over(struct csp_etm4_unit *etm)
{
    if (etm->unit.core.out.len >= HANDOVER)
        csp_etm4_unit_drain(etm);
}

static bool in_view(const struct csp_etm4_unit *etm, uint64_t pc)
{
    return etm->traces_user && csp_etm4_event(&etm->resources, etm->view_event) &&
           in_ranges(etm, pc);
}

void csp_etm4_unit_enter(struct csp_etm4_unit *etm, uint64_t pc, uint64_t cycles)
{
    if (!etm->unit.enabled)
        return;
    advance(etm, cycles, etm->user);
    etm->user = true;
    etm->unit.cycle = cycles;
    etm->unit.broadcasts = broadcasts_at(etm, pc);
    if (in_view(etm, pc))
        csp_unit_enter(&etm->unit, pc, cycles / CYCLES_PER_TICK);
    else
        csp_unit_gap(&etm->unit);
    hand_over(etm);
}

bool csp_etm4_unit_exception(struct csp_etm4_unit *etm, enum csp_exception_type type,
                             uint64_t return_address, uint64_t cycles)
{
    if (!etm->unit.enabled)
        return false;
    advance(etm, cycles, etm->user);
    etm->user = false;
    if (!etm->unit.tracing && !in_view(etm, return_address))
        return false;
    csp_unit_exception(&etm->unit, type, return_address, cycles / CYCLES_PER_TICK);
    hand_over(etm);
    return true;
}

void csp_etm4_unit_context(struct csp_etm4_unit *etm, uint32_t context_id)
{
    struct csp_trace_core *core = &etm->unit.core;
    if (core->context_id != context_id)
        core->context_known = false;
    core->context_id = context_id;
}
