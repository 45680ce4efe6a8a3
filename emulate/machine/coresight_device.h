/* What all CoreSight devices have in common: a page of registers with identification, claim tags
 * and a software lock.
 *
 * The registers are plain guest RAM. A store has changed the memory by the time the device hears of
 * it; the device answers by changing the memory again before the guest's next load. A register that
 * is merely configuration needs no code at all: it is read when it matters.
 *
 * Source: Arm CoreSight architecture specification (IHI 0029E) B2 "CoreSight programmers' model".
 */
#ifndef CSP_EMULATE_MACHINE_CORESIGHT_DEVICE_H
#define CSP_EMULATE_MACHINE_CORESIGHT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct csp_coresight_device {
    const char *name;
    volatile uint32_t *registers; /* 1024 words in guest RAM */
    uint32_t claimed;
    bool unlocked;
    uint64_t locked_stores; /* stores while the software lock was on: a driver's mistake */
};

struct csp_coresight_identity {
    uint32_t part; /* PIDR0 to PIDR3, lowest byte first */
    uint32_t type, architecture, configuration, authentication;
};

void csp_coresight_identify(struct csp_coresight_device *device, const char *name,
                            volatile uint32_t *registers,
                            const struct csp_coresight_identity *identity);
/* A store to a common register: true when it was one, and is dealt with. */
bool csp_coresight_store(struct csp_coresight_device *device, unsigned offset, uint32_t value);

static inline uint32_t csp_coresight_get(const struct csp_coresight_device *device, unsigned offset)
{
    return device->registers[offset / 4];
}

static inline void csp_coresight_set(const struct csp_coresight_device *device, unsigned offset,
                                     uint32_t value)
{
    device->registers[offset / 4] = value;
}

#endif
