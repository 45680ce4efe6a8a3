/* What the express lane looks up for each packet, by the packet's bytes alone. All in one object:
 * its address is in a register. */
#ifndef CSP_DECODE_TRACE_EXPRESS_TABLES_H
#define CSP_DECODE_TRACE_EXPRESS_TABLES_H

#include "decode/code/block_table.h"

#include <stdint.h>

/* An atom, as what has to be added to the number of a block for the way out of it. */
enum { N = 0, E = CSP_WAY_UNITS };

/* Which bits of an address packet's payload are the address's, from bit 2 on; and which bits of
 * which address before they replace. */
struct address_form {
    uint64_t taken, replaced, history;
};

/* Address packets of IS0 without context. */
enum {
    FORM_MATCH,
    FORM_SHORT = 3,
    FORM_SHORT_CONTINUED,
    FORM_LONG,
    FORM_LONG_64,
    FORMS,
};

struct express_tables {
    /* Of an atom packet: its atoms, oldest first, one a byte. What is behind a row is E, and stays
     * what it is: so a packet of many E is written by its last eight atoms alone, behind `skipped`
     * others. */
    uint64_t rows[256];
    uint8_t counts[256], skipped[256];
    /* Of an address packet, by its header and, from 256 on, whether the byte behind that says that
     * one follows: its size, which the next packet has to wait for; 0 for other packets. */
    uint8_t sizes[512], forms[512]; /* the latter in address_forms */
    struct address_form address_forms[FORMS];
};

#define ALL_E (E * UINT64_C(0x0101010101010101))
#define ROW(a, b, c, d, e)                                                                         \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |              \
     (uint64_t)(e) << 32 | (ALL_E & UINT64_C(0xffffff0000000000)))
/* Format 6: n atoms, of which all, or all but the last, are E. */
#define SIX(n) [0xc0 + (n) - 4] = (n), [0xe0 + (n) - 4] = (n)
#define SIX_SKIPPED(n) [0xc0 + (n) - 4] = (n) - 8, [0xe0 + (n) - 4] = (n) - 8
#define BY_HEADER(header, one, other) [header] = (one), [0x100 + (header)] = (other)

static const struct express_tables
    tables = {.rows =
                  {
                      [0 ... 0xd4] = ALL_E,
                      [0xe0] = ROW(E, E, E, N, E),
                      [0xe1] = ROW(E, E, E, E, N),
                      [0xe2] = ALL_E ^ (uint64_t)E << 40,
                      [0xe3] = ALL_E ^ (uint64_t)E << 48,
                      [0xe4 ... 0xf4] = ALL_E ^ (uint64_t)E << 56,
                      [0xd5] = ROW(N, N, N, N, N),
                      [0xd6] = ROW(N, E, N, E, N),
                      [0xd7] = ROW(E, N, E, N, E),
                      [0xf5] = ROW(N, E, E, E, E),
                      [0xd8] = ROW(N, N, E, E, E),
                      [0xd9] = ROW(E, N, E, E, E),
                      [0xda] = ROW(N, E, E, E, E),
                      [0xdb] = ALL_E,
                      [0xdc] = ROW(N, E, E, E, E),
                      [0xdd] = ROW(N, N, N, N, E),
                      [0xde] = ROW(N, E, N, E, E),
                      [0xdf] = ROW(E, N, E, N, E),
                      [0xf6] = ROW(N, E, E, E, E),
                      [0xf7] = ALL_E,
                      [0xf8] = ROW(N, N, N, E, E),
                      [0xf9] = ROW(E, N, N, E, E),
                      [0xfa] = ROW(N, E, N, E, E),
                      [0xfb] = ROW(E, E, N, E, E),
                      [0xfc] = ROW(N, N, E, E, E),
                      [0xfd] = ROW(E, N, E, E, E),
                      [0xfe] = ROW(N, E, E, E, E),
                      [0xff] = ALL_E,
                  },
              .counts = {SIX(4),
                         SIX(5),
                         SIX(6),
                         SIX(7),
                         SIX(8),
                         SIX(9),
                         SIX(10),
                         SIX(11),
                         SIX(12),
                         SIX(13),
                         SIX(14),
                         SIX(15),
                         SIX(16),
                         SIX(17),
                         SIX(18),
                         SIX(19),
                         SIX(20),
                         SIX(21),
                         SIX(22),
                         SIX(23),
                         SIX(24),
                         [0xd5 ... 0xd7] = 5,
                         [0xd8 ... 0xdb] = 2,
                         [0xdc ... 0xdf] = 4,
                         [0xf5] = 5,
                         [0xf6 ... 0xf7] = 1,
                         [0xf8 ... 0xff] = 3},
              .skipped = {SIX_SKIPPED(9), SIX_SKIPPED(10), SIX_SKIPPED(11), SIX_SKIPPED(12),
                          SIX_SKIPPED(13), SIX_SKIPPED(14), SIX_SKIPPED(15), SIX_SKIPPED(16),
                          SIX_SKIPPED(17), SIX_SKIPPED(18), SIX_SKIPPED(19), SIX_SKIPPED(20),
                          SIX_SKIPPED(21), SIX_SKIPPED(22), SIX_SKIPPED(23), SIX_SKIPPED(24)},
              .sizes = {BY_HEADER(0x90, 1, 1), BY_HEADER(0x91, 1, 1), BY_HEADER(0x92, 1, 1),
                        BY_HEADER(0x95, 2, 3), BY_HEADER(0x9a, 5, 5), BY_HEADER(0x9d, 9, 9)},
              .forms = {BY_HEADER(0x90, FORM_MATCH, FORM_MATCH),
                        BY_HEADER(0x91, FORM_MATCH + 1, FORM_MATCH + 1),
                        BY_HEADER(0x92, FORM_MATCH + 2, FORM_MATCH + 2),
                        BY_HEADER(0x95, FORM_SHORT, FORM_SHORT_CONTINUED),
                        BY_HEADER(0x9a, FORM_LONG, FORM_LONG),
                        BY_HEADER(0x9d, FORM_LONG_64, FORM_LONG_64)},
              .address_forms = {
                  [FORM_MATCH] = {.history = 0},
                  [FORM_MATCH + 1] = {.history = 1},
                  [FORM_MATCH + 2] = {.history = 2},
                  [FORM_SHORT] = {.taken = 0x7f, .replaced = 0x1fc},
                  [FORM_SHORT_CONTINUED] = {.taken = 0xff7f, .replaced = 0x1fffc},
                  [FORM_LONG] = {.taken = 0xffff7f7f, .replaced = 0xffffffff},
                  [FORM_LONG_64] = {.taken = UINT64_C(0xffffffffffff7f7f), .replaced = UINT64_MAX},
              }};

#undef ROW
#undef SIX
#undef SIX_SKIPPED
#undef BY_HEADER

#endif
