#include "emulate/user/kernel.h"

#include "emulate/frame.h"
#include "emulate/user/frame_walk.h"
#include "emulate/user/guest.h"
#include "emulate/user/shared_state.h"
#include "perfdata/record.h"
#include "perfdata/sample_record.h"

#include <string.h>

/* What the handler costs, in nanoseconds: from the interrupt to stopping the trace and emptying its
 * sink, and from there to the sample. Order and sign matter, not the size. */
enum { DRAIN_COST = 100, SAMPLE_COST = 100, RESUME_COST = 100 };

/* A TRBE is emptied when so much has come together, not at every pause. */
enum { TRBE_WATERMARK = 64 * 1024 };

static struct csp_journal_record record_of(const struct csp_vcpu *vcpu, enum csp_journal_type type,
                                           uint64_t time)
{
    return (struct csp_journal_record){
        .type = type, .tid = vcpu->tid, .cpu = vcpu->cpu, .time = time};
}

static void spend(struct csp_vcpu *vcpu, uint64_t nanoseconds)
{
    vcpu->waited += nanoseconds;
}

/* Announces bytes of trace on the ring of the thread's processor. */
static void announce(struct csp_vcpu *vcpu, uint64_t time, const struct csp_buf *bytes,
                     uint64_t flags)
{
    if (!bytes->len)
        return;
    struct csp_journal_record record = record_of(vcpu, CSP_JOURNAL_TRACE, time);
    record.a = flags;
    csp_machine_record(&record, bytes->data, bytes->len);
}

/* Drops the oldest bytes of a ring; whether there were too many. Frames are never cut: sizes are
 * multiples of theirs. */
static bool overwrite(struct csp_buf *ring, size_t size)
{
    if (ring->len <= size)
        return false;
    memmove(ring->data, (uint8_t *)ring->data + (ring->len - size), size);
    ring->len = size;
    return true;
}

/* The ETR serves all processors. It is emptied when a thread stops its trace, unless others that
 * run use it too; its oldest bytes are overwritten. `leaves`: the thread is switched out. */
static void flush_to_etr(struct csp_vcpu *vcpu, bool leaves)
{
    struct csp_buf taken = {0}, *bytes = &vcpu->unit.core.out;
    struct csp_etr *etr = &csp_machine.etr;
    size_t size = csp_machine.settings.sink_size;
    bool lost = false;
    uint64_t now = csp_vcpu_now(vcpu);
    pthread_mutex_lock(&csp_machine.lock);
    csp_frame_pack(&etr->bytes, CSP_EMULATE_TRACE_ID + vcpu->cpu, bytes->data, bytes->len);
    /* Others' trace may be from later: no record is older than what it announces. */
    etr->newest = etr->newest > now ? etr->newest : now;
    now = etr->newest;
    if (etr->owners == 1 || etr->bytes.len > 2 * size)
        etr->lost |= overwrite(&etr->bytes, size);
    if (etr->owners == 1) {
        taken = etr->bytes;
        lost = etr->lost;
        etr->bytes = (struct csp_buf){0};
        etr->lost = false;
    }
    etr->owners -= leaves;
    pthread_mutex_unlock(&csp_machine.lock);
    announce(vcpu, now, &taken, lost ? CSP_AUX_TRUNCATED : 0);
    csp_buf_free(&taken);
}

/* A TRBE belongs to its processor and stores the bytes alone, here padded with Ignore packets to
 * its alignment. */
static void flush_to_trbe(struct csp_vcpu *vcpu, bool leaves)
{
    enum { IGNORE_PACKET = 0x70, TRBE_ALIGNMENT = 32 };
    const struct csp_buf *bytes = &vcpu->unit.core.out;
    csp_buf_add(&vcpu->sink, bytes->data, bytes->len);
    while (vcpu->sink.len % TRBE_ALIGNMENT)
        csp_buf_add_u8(&vcpu->sink, IGNORE_PACKET);
    if (!leaves && vcpu->sink.len < TRBE_WATERMARK)
        return;
    announce(vcpu, csp_vcpu_now(vcpu), &vcpu->sink, 0);
    vcpu->sink.len = 0;
}

/* Moves the trace unit's bytes to its sink. */
static void flush_trace(struct csp_vcpu *vcpu, bool leaves)
{
    vcpu->totals.trace_bytes += vcpu->unit.core.out.len;
    if (csp_machine.settings.protocol == CSP_EMULATE_ETMV4)
        flush_to_etr(vcpu, leaves);
    else
        flush_to_trbe(vcpu, leaves);
    csp_unit_take(&vcpu->unit);
}

static void open_window(struct csp_vcpu *vcpu)
{
    vcpu->totals.windows++;
    vcpu->opened_at = csp_vcpu_now(vcpu);
    vcpu->window_open = vcpu->just_branched = true;
    csp_unit_enable(&vcpu->unit);
    /* With settings.cover, from half of its length on: not always after the same calls. Code that
     * runs once leaves no time for that. */
    enum { SHORT = 8, PART = 64 };
    uint64_t half = csp_machine.settings.window / 2, part = csp_machine.settings.window / PART;
    vcpu->may_close_at = vcpu->cycles + (part > SHORT ? part : SHORT);
    if (csp_machine.settings.cover_at < 0)
        vcpu->may_close_at =
            vcpu->cycles + half +
            (vcpu->totals.windows * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (half + 1);
}

/* Where the program was interrupted, as a sample of an event that excludes the kernel tells it. */
static uint64_t sampled_ip(const struct csp_vcpu *vcpu, uint64_t pc)
{
    return vcpu->in_kernel ? 0 : pc;
}

void csp_kernel_resume(struct csp_vcpu *vcpu, uint64_t pc, bool opens)
{
    if (opens)
        csp_vcpu_catch_up(vcpu);
    struct csp_journal_record record = record_of(vcpu, CSP_JOURNAL_RESUME, csp_vcpu_now(vcpu));
    record.a = sampled_ip(vcpu, pc);
    record.b = csp_guest_register(CSP_GUEST_LR);
    record.c = csp_guest_register(CSP_GUEST_SP);
    csp_machine_record(&record, NULL, 0);
    spend(vcpu, RESUME_COST);
    if (opens)
        open_window(vcpu);
}

/* Stops the trace unit; returns when. */
static uint64_t close_window(struct csp_vcpu *vcpu)
{
    uint64_t closed = csp_vcpu_now(vcpu);
    csp_unit_disable(&vcpu->unit);
    spend(vcpu, DRAIN_COST);
    vcpu->window_open = false;
    return closed;
}

enum { KERNEL_ENTRIES = 4 };

/* What the kernel was doing: el0t_64_irq_handler and two of its callers, somewhere. */
static unsigned kernel_frames(uint64_t *chain)
{
    static const uint64_t frames[KERNEL_ENTRIES] = {CSP_CONTEXT_KERNEL, 0xffff800080015c20,
                                                    0xffff800080f1a3c4, 0xffff80008001180c};
    memcpy(chain, frames, sizeof frames);
    return KERNEL_ENTRIES;
}

void csp_kernel_pause(struct csp_vcpu *vcpu, uint64_t pc)
{
    uint64_t chain[KERNEL_ENTRIES + CSP_CALLCHAIN_MOST + 1];
    unsigned frames = vcpu->in_kernel ? kernel_frames(chain) : 0;
    bool was_open = vcpu->window_open;
    uint64_t closed = was_open ? close_window(vcpu) : 0;
    if (was_open)
        flush_trace(vcpu, false);
    spend(vcpu, SAMPLE_COST);
    struct csp_journal_record record = record_of(vcpu, CSP_JOURNAL_PAUSE, csp_vcpu_now(vcpu));
    record.a = sampled_ip(vcpu, pc);
    record.b = csp_guest_register(CSP_GUEST_LR);
    record.c = csp_guest_register(CSP_GUEST_SP);
    frames += csp_unwind_callchain(pc, csp_guest_register(CSP_GUEST_FP), chain + frames);
    csp_machine_record(&record, chain, frames * sizeof *chain);
    if (was_open)
        csp_truth_window(&vcpu->truth, vcpu->cpu, vcpu->tid, vcpu->opened_at, closed, record.time,
                         record.b);
}

void csp_kernel_switch_out(struct csp_vcpu *vcpu)
{
    vcpu->asleep = true;
    vcpu->reopens = vcpu->window_open;
    if (!vcpu->traced)
        return;
    if (vcpu->reopens) {
        uint64_t closed = close_window(vcpu);
        vcpu->totals.unsampled_windows++;
        csp_truth_window(&vcpu->truth, vcpu->cpu, vcpu->tid, vcpu->opened_at, closed, 0, 0);
    }
    flush_trace(vcpu, true);
}

void csp_kernel_switch_in(struct csp_vcpu *vcpu)
{
    struct csp_journal_record record = record_of(vcpu, CSP_JOURNAL_SWITCH_IN, csp_vcpu_now(vcpu));
    vcpu->asleep = false;
    if (!vcpu->traced)
        return;
    csp_machine_record(&record, NULL, 0);
    pthread_mutex_lock(&csp_machine.lock);
    csp_machine.etr.owners++;
    pthread_mutex_unlock(&csp_machine.lock);
    if (vcpu->reopens)
        open_window(vcpu);
}
