/* Where the CoreSight devices of the machine are: the top of guest RAM, which `mem=896M` keeps the
 * kernel from using. The device tree (device-tree) says the same. */
#ifndef CSP_EMULATE_MACHINE_CORESIGHT_MAP_H
#define CSP_EMULATE_MACHINE_CORESIGHT_MAP_H

enum {
    CSP_MACHINE_MOST_CPUS = 8,
    CSP_MACHINE_PAGE = 0x1000, /* each device's registers */

    CSP_MACHINE_RAM = 0x40000000,     /* RAM of QEMU's virt machine */
    CSP_MACHINE_DEVICES = 0x78000000, /* one ETM for each CPU, then: */
    CSP_MACHINE_FUNNEL = 0x10000,     /* offsets from CSP_MACHINE_DEVICES */
    CSP_MACHINE_ETR = 0x20000,
    CSP_MACHINE_DEVICES_SIZE = 0x21000,
};

#endif
