/* Atom packets: up to 24 branch outcomes in one byte. */
#ifndef CSP_EMULATE_ATOMS_H
#define CSP_EMULATE_ATOMS_H

#include <stdint.h>

/* The most atoms that one packet can hold: 23 times E and one more (format 6). */
enum { CSP_ATOMS_MOST = 24 };

/* The packet for as many of the oldest atoms as one can hold. `atoms` has the oldest in bit 0, 1 is
 * E; `count` is 1 to 24. Tells in *used how many it took.
 * Source: Arm ETM architecture specification, "Atom instruction trace packets", formats 1 to 6. */
uint8_t csp_atoms_pack(uint32_t atoms, unsigned count, unsigned *used);

#endif
