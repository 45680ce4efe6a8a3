#include "emulate/machine/tmc_etr.h"

#include "emulate/frame.h"

#include <string.h>

enum {
    RSZ = 0x004,
    STS = 0x00c,
    RRP = 0x014,
    RWP = 0x018,
    CTL = 0x020,
    RRPHI = 0x038,
    RWPHI = 0x03c,
    DBALO = 0x118,
    DBAHI = 0x11c,
    FFSR = 0x300,
    FFCR = 0x304,

    STS_FULL = 1 << 0,
    STS_READY = 1 << 2,
    STS_FIFO_EMPTY = 1 << 3,
    STS_EMPTY = 1 << 4,
    CTL_CAPTURE = 1 << 0,
    FFSR_STOPPED = 1 << 1,
    FFCR_MANUAL_FLUSH = 1 << 6,
    FFCR_STOP_ON_FLUSH = 1 << 12,
};

void csp_tmc_etr_reset(struct csp_tmc_etr *etr, volatile uint32_t *registers,
                       const struct csp_guest_ram *ram)
{
    static const struct csp_coresight_identity identity = {
        .part = 0x000bb961,
        .type = 0x21,           /* trace sink, buffer */
        .configuration = 0x340, /* configured as ETR, 64 bits wide */
        .authentication = 0xff, /* else the driver gets no access to memory */
    };
    *etr = (struct csp_tmc_etr){.ram = ram};
    csp_coresight_identify(&etr->device, "etr", registers, &identity);
    csp_coresight_set(&etr->device, STS, STS_READY | STS_EMPTY | STS_FIFO_EMPTY);
    csp_coresight_set(&etr->device, FFSR, FFSR_STOPPED);
}

static void tell_write_pointer(struct csp_tmc_etr *etr)
{
    uint64_t address = etr->buffer + etr->write;
    csp_coresight_set(&etr->device, RWP, (uint32_t)address);
    csp_coresight_set(&etr->device, RWPHI, address >> 32);
    /* Once the buffer has wrapped, the oldest byte is the next to be overwritten. */
    if (csp_coresight_get(&etr->device, STS) & STS_FULL) {
        csp_coresight_set(&etr->device, RRP, (uint32_t)address);
        csp_coresight_set(&etr->device, RRPHI, address >> 32);
    }
}

static void start(struct csp_tmc_etr *etr)
{
    etr->buffer = csp_coresight_get(&etr->device, DBALO) |
                  (uint64_t)csp_coresight_get(&etr->device, DBAHI) << 32;
    etr->size = (uint64_t)csp_coresight_get(&etr->device, RSZ) * 4;
    etr->write = 0;
    etr->capturing = true;
    csp_coresight_set(&etr->device, STS, 0);
    csp_coresight_set(&etr->device, FFSR, 0);
    csp_coresight_set(&etr->device, RRP, (uint32_t)etr->buffer);
    csp_coresight_set(&etr->device, RRPHI, etr->buffer >> 32);
    tell_write_pointer(etr);
}

static void stop(struct csp_tmc_etr *etr)
{
    uint32_t full = csp_coresight_get(&etr->device, STS) & STS_FULL;
    etr->capturing = false;
    csp_coresight_set(&etr->device, STS,
                      full | STS_READY | STS_FIFO_EMPTY | (etr->write || full ? 0 : STS_EMPTY));
    csp_coresight_set(&etr->device, FFSR, FFSR_STOPPED);
}

void csp_tmc_etr_store(struct csp_tmc_etr *etr, unsigned offset, uint32_t value)
{
    if (csp_coresight_store(&etr->device, offset, value))
        return;
    switch (offset) {
    case CTL:
        /* Linux drains at a pause and then enables again without having disabled: a new capture. */
        if (!(value & CTL_CAPTURE))
            stop(etr);
        else if (!etr->capturing)
            start(etr);
        break;
    case FFCR:
        if (!(value & FFCR_MANUAL_FLUSH))
            break;
        if (etr->flush_sources)
            etr->flush_sources(etr->user);
        csp_coresight_set(&etr->device, FFCR, value & ~(uint32_t)FFCR_MANUAL_FLUSH);
        if (value & FFCR_STOP_ON_FLUSH)
            stop(etr);
        break;
    default: /* configuration */
        break;
    }
}

static void write_frames(struct csp_tmc_etr *etr)
{
    const char *from = etr->frames.data;
    size_t left = etr->frames.len;
    etr->stored_bytes += left;
    while (left) {
        uint64_t piece = left < etr->size - etr->write ? left : etr->size - etr->write;
        memcpy(csp_guest_ram_at(etr->ram, etr->buffer + etr->write, piece), from, piece);
        from += piece;
        left -= piece;
        etr->write += piece;
        if (etr->write == etr->size) {
            etr->write = 0;
            csp_coresight_set(&etr->device, STS, csp_coresight_get(&etr->device, STS) | STS_FULL);
        }
    }
    tell_write_pointer(etr);
}

void csp_tmc_etr_receive(struct csp_tmc_etr *etr, unsigned trace_id, const void *bytes, size_t size)
{
    if (!etr->capturing) {
        etr->lost_bytes += size;
        return;
    }
    if (!etr->size || !csp_guest_ram_at(etr->ram, etr->buffer, etr->size)) {
        etr->rejected_bytes += size;
        return;
    }
    etr->frames.len = 0;
    csp_frame_pack(&etr->frames, trace_id, bytes, size);
    write_frames(etr);
}
