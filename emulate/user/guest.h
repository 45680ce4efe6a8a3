/* Registers and memory of the emulated program, for the thread that runs it. */
#ifndef CSP_EMULATE_USER_GUEST_H
#define CSP_EMULATE_USER_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSP_GUEST_FP = 29, CSP_GUEST_LR = 30, CSP_GUEST_SP = 31 };

/* The plugin interface of QEMU before 9.0 has no register access, so the functions of its debugger
 * stub are looked up. Null when all were found, else the name of the missing one. */
const char *csp_guest_lookup(void);
/* x0 to x30 and sp, as they are at the start of the block that is about to run. */
uint64_t csp_guest_register(unsigned number);
/* Where the program's address 0 is in the emulator. */
uint64_t csp_guest_base(void);
/* Copies from the program's memory; false when any of it cannot be read. */
bool csp_guest_read(uint64_t address, void *to, size_t size);

#endif
