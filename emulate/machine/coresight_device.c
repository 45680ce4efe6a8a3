#include "emulate/machine/coresight_device.h"

enum {
    CLAIMSET = 0xfa0,
    CLAIMCLR = 0xfa4,
    LAR = 0xfb0,
    LSR = 0xfb4,
    AUTHSTATUS = 0xfb8,
    DEVARCH = 0xfbc,
    DEVID = 0xfc8,
    DEVTYPE = 0xfcc,
    PIDR4 = 0xfd0,
    PIDR0 = 0xfe0,
    CIDR0 = 0xff0,

    CLAIM_TAGS = 0xf,
    LSR_PRESENT = 1,
    LSR_LOCKED = 2,
};
static const uint32_t lock_key = 0xc5acce55;

void csp_coresight_identify(struct csp_coresight_device *device, const char *name,
                            volatile uint32_t *registers,
                            const struct csp_coresight_identity *identity)
{
    static const uint8_t component[] = {0x0d, 0x90, 0x05, 0xb1};
    *device = (struct csp_coresight_device){.name = name, .registers = registers};
    for (unsigned i = 0; i < 4; i++) {
        csp_coresight_set(device, PIDR0 + 4 * i, identity->part >> (8 * i) & 0xff);
        csp_coresight_set(device, CIDR0 + 4 * i, component[i]);
    }
    csp_coresight_set(device, PIDR4, 4);
    csp_coresight_set(device, DEVTYPE, identity->type);
    csp_coresight_set(device, DEVARCH, identity->architecture);
    csp_coresight_set(device, DEVID, identity->configuration);
    csp_coresight_set(device, AUTHSTATUS, identity->authentication);
    csp_coresight_set(device, LSR, LSR_PRESENT | LSR_LOCKED);
    csp_coresight_set(device, CLAIMSET, CLAIM_TAGS);
}

bool csp_coresight_store(struct csp_coresight_device *device, unsigned offset, uint32_t value)
{
    if (offset == LAR) {
        device->unlocked = value == lock_key;
        csp_coresight_set(device, LSR, LSR_PRESENT | (device->unlocked ? 0 : LSR_LOCKED));
        return true;
    }
    if (!device->unlocked)
        device->locked_stores++;
    if (offset == CLAIMSET)
        device->claimed |= value & CLAIM_TAGS;
    else if (offset == CLAIMCLR)
        device->claimed &= ~value;
    else
        return false;
    csp_coresight_set(device, CLAIMSET, CLAIM_TAGS);
    csp_coresight_set(device, CLAIMCLR, device->claimed);
    return true;
}
