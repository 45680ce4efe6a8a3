/* The guest's memory, shared with QEMU through a file. Addresses are physical. */
#ifndef CSP_EMULATE_MACHINE_GUEST_RAM_H
#define CSP_EMULATE_MACHINE_GUEST_RAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csp_guest_ram {
    uint8_t *data;
    uint64_t base, size;
};

/* Maps the file that QEMU's memory-backend-file names. 0, or -1 with errno. */
int csp_guest_ram_open(struct csp_guest_ram *ram, const char *path, uint64_t base);
/* Where `size` bytes at `address` are, or null when not all of them are in RAM. */
void *csp_guest_ram_at(const struct csp_guest_ram *ram, uint64_t address, uint64_t size);

#endif
