#include "emulate/atoms.h"

#include <stdbool.h>
#include <stddef.h>

/* Formats 4 and 5 name a few common patterns; the oldest atom is in bit 0. */
static const struct pattern {
    uint8_t length, atoms, packet;
} patterns[] = {
    {5, 0x1e, 0xf5}, /* N E E E E */
    {5, 0x00, 0xd5}, /* N N N N N */
    {5, 0x0a, 0xd6}, /* N E N E N */
    {5, 0x15, 0xd7}, /* E N E N E */
    {4, 0x0e, 0xdc}, /* N E E E */
    {4, 0x00, 0xdd}, /* N N N N */
    {4, 0x0a, 0xde}, /* N E N E */
    {4, 0x05, 0xdf}, /* E N E N */
};

uint8_t csp_atoms_pack(uint32_t atoms, unsigned count, unsigned *used)
{
    /* Format 6: COUNT + 3 times E, then an E (bit 5 clear) or an N. */
    unsigned ones = 0;
    while (ones < count && ones < CSP_ATOMS_MOST && (atoms >> ones & 1))
        ones++;
    bool ends_in_n = ones < count && ones <= 23;
    if (ones >= (ends_in_n ? 3 : 4)) {
        *used = ends_in_n ? ones + 1 : ones;
        return (uint8_t)((ends_in_n ? 0xe0 : 0xc0) | (*used - 4));
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const struct pattern *pattern = &patterns[i];
        if (count < pattern->length || (atoms & ((1u << pattern->length) - 1)) != pattern->atoms)
            continue;
        *used = pattern->length;
        return pattern->packet;
    }
    *used = count < 3 ? count : 3;
    static const uint8_t headers[] = {0, 0xf6, 0xd8, 0xf8};
    return (uint8_t)(headers[*used] | (atoms & ((1u << *used) - 1)));
}
