/* What the plugin needs of QEMU's system emulator beyond the plugin interface of 7.2, which has
 * neither registers nor a clock. QEMU exports these functions for its own modules; they are looked
 * up by name, and their absence is reported before the machine starts. */
#ifndef CSP_EMULATE_MACHINE_QEMU_SYSTEM_H
#define CSP_EMULATE_MACHINE_QEMU_SYSTEM_H

#include <stdint.h>

enum { CSP_QEMU_SP = 31, CSP_QEMU_PC = 32 };

/* Null when all were found, else the name of the missing one. */
const char *csp_qemu_lookup(void);
/* x0 to x30, sp and pc, as they are at the start of the block that is about to run on this CPU. */
uint64_t csp_qemu_register(unsigned cpu, unsigned number);
unsigned csp_qemu_exception_level(unsigned cpu);
/* Virtual time in ns, of which the guest's counter is a 16th: with one instruction a nanosecond
 * (icount) the number of cycles, too. For the thread that runs this CPU. */
uint64_t csp_qemu_clock(unsigned cpu);

#endif
