#include "emulate/trace_core.h"

#include "emulate/atoms.h"

#include <string.h>

enum {
    PACKET_TRACE_INFO = 0x01,
    PACKET_TIMESTAMP = 0x02,
    PACKET_TRACE_ON = 0x04,
    PACKET_EXCEPTION = 0x06,
    PACKET_CYCLE_COUNT = 0x0e,
    PACKET_ADDRESS_CONTEXT_64 = 0x85,
    PACKET_EXACT_MATCH = 0x90,
    PACKET_ADDRESS_SHORT = 0x95,
    PACKET_ADDRESS_32 = 0x9a,
    PACKET_ADDRESS_64 = 0x9d,
};

static void put(struct csp_trace_core *core, unsigned byte)
{
    csp_buf_add_u8(&core->out, (uint8_t)byte);
}

void csp_core_reset(struct csp_trace_core *core)
{
    memset(core->addresses, 0, sizeof core->addresses);
    core->timestamp = 0;
    core->timestamp_known = core->context_known = false;
    core->atoms = core->atom_count = 0;
}

void csp_core_flush(struct csp_trace_core *core)
{
    while (core->atom_count) {
        unsigned used;
        put(core, csp_atoms_pack(core->atoms, core->atom_count, &used));
        core->atoms >>= used;
        core->atom_count -= used;
    }
}

void csp_core_atom(struct csp_trace_core *core, bool taken)
{
    if (core->atom_count == CSP_ATOMS_MOST)
        csp_core_flush(core);
    core->atoms |= (uint32_t)taken << core->atom_count++;
}

/* Seven bits a byte, lowest first, bit 7 set when more follow. */
static void put_number(struct csp_trace_core *core, uint32_t value)
{
    for (; value > 0x7f; value >>= 7)
        put(core, (value & 0x7f) | 0x80);
    put(core, value);
}

void csp_core_sync(struct csp_trace_core *core)
{
    static const uint8_t async[12] = {[11] = 0x80};
    csp_core_flush(core);
    csp_buf_add(&core->out, async, sizeof async);
    bool cycles = core->configr & CSP_CONFIGR_CYCLE_COUNT;
    put(core, PACKET_TRACE_INFO);
    put(core, cycles ? 9 : 1); /* PLCTL: the fields INFO and CYCT follow */
    put(core, cycles);         /* INFO: cycle counts; no conditional or load/store tracing */
    if (cycles)
        put_number(core, core->cycle_threshold);
    csp_core_reset(core);
}

void csp_core_trace_on(struct csp_trace_core *core)
{
    csp_core_flush(core);
    put(core, PACKET_TRACE_ON);
}

static void remember(struct csp_trace_core *core, uint64_t address)
{
    core->addresses[2] = core->addresses[1];
    core->addresses[1] = core->addresses[0];
    core->addresses[0] = address;
}

/* The IS0 long forms: A[8:2], A[15:9], then whole bytes from A[23:16] up. */
static void put_long_address(struct csp_trace_core *core, uint64_t address, unsigned bytes)
{
    put(core, address >> 2 & 0x7f);
    put(core, address >> 9 & 0x7f);
    for (unsigned i = 2; i < bytes; i++)
        put(core, address >> (8 * i) & 0xff);
}

void csp_core_address(struct csp_trace_core *core, uint64_t address)
{
    csp_core_flush(core);
    uint64_t changed = address ^ core->addresses[0];
    unsigned match = 0;
    while (match < 3 && core->addresses[match] != address)
        match++;
    if (match < 3) {
        put(core, PACKET_EXACT_MATCH + match);
    } else if (changed >> 17 == 0) {
        bool second = changed >> 9 != 0;
        put(core, PACKET_ADDRESS_SHORT);
        put(core, (address >> 2 & 0x7f) | (second ? 0x80 : 0));
        if (second)
            put(core, address >> 9 & 0xff);
    } else if (changed >> 32 == 0) {
        put(core, PACKET_ADDRESS_32);
        put_long_address(core, address, 4);
    } else {
        put(core, PACKET_ADDRESS_64);
        put_long_address(core, address, 8);
    }
    remember(core, address);
}

void csp_core_address_context(struct csp_trace_core *core, uint64_t address, unsigned el,
                              bool with_id)
{
    enum { AARCH64 = 1 << 4, NON_SECURE = 1 << 5, HAS_CONTEXT_ID = 1 << 7 };
    csp_core_flush(core);
    bool id = with_id && (core->configr & CSP_CONFIGR_CONTEXT_ID);
    put(core, PACKET_ADDRESS_CONTEXT_64);
    put_long_address(core, address, 8);
    put(core, el | AARCH64 | NON_SECURE | (id ? HAS_CONTEXT_ID : 0));
    if (id)
        csp_buf_add_u32(&core->out, core->context_id);
    remember(core, address);
}

void csp_core_exception(struct csp_trace_core *core, enum csp_exception_type type,
                        uint64_t return_address, bool after_indirect)
{
    csp_core_flush(core);
    put(core, PACKET_EXCEPTION);
    /* E1:E0 in bits 6 and 0: 01, the address is that of the exception alone; 10, it is also the
     * target of the branch before. */
    put(core, (unsigned)type << 1 | (after_indirect ? 0x40 : 0x01));
    csp_core_address(core, return_address);
}

/* Seven bits a byte, lowest first, bit 7 set when more follow; a ninth byte holds eight bits. Only
 * bytes up to the highest that changed are sent. */
void csp_core_timestamp(struct csp_trace_core *core, uint64_t value)
{
    if (!(core->configr & CSP_CONFIGR_TIMESTAMP))
        return;
    csp_core_flush(core);
    put(core, PACKET_TIMESTAMP);
    uint64_t changed = core->timestamp_known ? value ^ core->timestamp : ~0ull;
    unsigned index = 0;
    for (; index < 8 && changed >> (7 * (index + 1)) != 0; index++)
        put(core, (value >> (7 * index) & 0x7f) | 0x80);
    put(core, value >> (7 * index) & (index == 8 ? 0xff : 0x7f));
    core->timestamp = value;
    core->timestamp_known = true;
}

/* Format 1, which in commit mode 1 holds the count alone, above the threshold, in 20 bits. */
void csp_core_cycles(struct csp_trace_core *core, uint64_t cycles)
{
    enum { UNKNOWN = 1, MOST = (1 << 20) - 1 };
    csp_core_flush(core);
    uint64_t count = cycles - core->cycle_threshold;
    if (!cycles || count > MOST) {
        put(core, PACKET_CYCLE_COUNT | UNKNOWN);
        return;
    }
    put(core, PACKET_CYCLE_COUNT);
    put_number(core, (uint32_t)count);
}
