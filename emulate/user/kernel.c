#include "emulate/user/kernel.h"

#include "emulate/frame.h"
#include "emulate/user/frame_walk.h"
#include "emulate/user/guest.h"
#include "emulate/user/shared_state.h"

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

static void spend(struct csp_vcpu *vcpu, unsigned nanoseconds)
{
    vcpu->waited += nanoseconds;
}

void csp_kernel_drain(struct csp_vcpu *vcpu)
{
    if (!vcpu->sink.len)
        return;
    struct csp_journal_record record = record_of(vcpu, CSP_JOURNAL_TRACE, csp_vcpu_now(vcpu));
    csp_machine_record(&record, vcpu->sink.data, vcpu->sink.len);
    vcpu->sink.len = 0;
}

/* Moves the trace unit's bytes to its sink: an ETR stores whole frames and is emptied each time; a
 * TRBE stores the bytes alone, here padded with Ignore packets to its alignment. */
static void flush_trace(struct csp_vcpu *vcpu)
{
    enum { IGNORE_PACKET = 0x70, TRBE_ALIGNMENT = 32 };
    struct csp_buf *bytes = &vcpu->unit.core.out;
    vcpu->totals.trace_bytes += bytes->len;
    if (csp_machine.settings.protocol == CSP_EMULATE_ETMV4) {
        csp_frame_pack(&vcpu->sink, CSP_EMULATE_TRACE_ID + vcpu->cpu, bytes->data, bytes->len);
    } else {
        csp_buf_add(&vcpu->sink, bytes->data, bytes->len);
        while (vcpu->sink.len % TRBE_ALIGNMENT)
            csp_buf_add_u8(&vcpu->sink, IGNORE_PACKET);
    }
    csp_unit_take(&vcpu->unit);
    if (csp_machine.settings.protocol == CSP_EMULATE_ETMV4 || vcpu->sink.len >= TRBE_WATERMARK)
        csp_kernel_drain(vcpu);
}

void csp_kernel_resume(struct csp_vcpu *vcpu, uint64_t pc, bool opens)
{
    if (opens)
        csp_vcpu_catch_up(vcpu);
    struct csp_journal_record record = record_of(vcpu, CSP_JOURNAL_RESUME, csp_vcpu_now(vcpu));
    record.a = pc;
    record.b = csp_guest_register(CSP_GUEST_LR);
    record.c = csp_guest_register(CSP_GUEST_SP);
    csp_machine_record(&record, NULL, 0);
    spend(vcpu, RESUME_COST);
    if (!opens)
        return;
    vcpu->totals.windows++;
    vcpu->opened_at = csp_vcpu_now(vcpu);
    vcpu->window_open = vcpu->just_branched = true;
    csp_unit_enable(&vcpu->unit);
}

/* Stops the trace unit; returns when. */
static uint64_t close_window(struct csp_vcpu *vcpu)
{
    uint64_t closed = csp_vcpu_now(vcpu);
    csp_unit_disable(&vcpu->unit);
    spend(vcpu, DRAIN_COST);
    flush_trace(vcpu);
    vcpu->window_open = false;
    return closed;
}

void csp_kernel_pause(struct csp_vcpu *vcpu, uint64_t pc)
{
    uint64_t chain[CSP_CALLCHAIN_MOST + 1];
    bool was_open = vcpu->window_open;
    uint64_t closed = was_open ? close_window(vcpu) : 0;
    spend(vcpu, SAMPLE_COST);
    struct csp_journal_record record = record_of(vcpu, CSP_JOURNAL_PAUSE, csp_vcpu_now(vcpu));
    record.a = pc;
    record.b = csp_guest_register(CSP_GUEST_LR);
    record.c = csp_guest_register(CSP_GUEST_SP);
    unsigned frames = csp_unwind_callchain(pc, csp_guest_register(CSP_GUEST_FP), chain);
    csp_machine_record(&record, chain, frames * sizeof *chain);
    if (was_open)
        csp_truth_window(&vcpu->truth, vcpu->cpu, vcpu->tid, vcpu->opened_at, closed, record.time,
                         record.b);
}

void csp_kernel_close_unsampled(struct csp_vcpu *vcpu)
{
    if (!vcpu->window_open)
        return;
    uint64_t closed = close_window(vcpu);
    vcpu->totals.unsampled_windows++;
    csp_truth_window(&vcpu->truth, vcpu->cpu, vcpu->tid, vcpu->opened_at, closed, 0, 0);
}
