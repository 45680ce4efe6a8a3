/* Address packets of IS0 without a context, by their bytes alone (Arm ARM, "Address packets" of the
 * trace protocol). All in one object: its address is in a register. */
#ifndef CSP_DECODE_TRACE_ADDRESS_FORMS_H
#define CSP_DECODE_TRACE_ADDRESS_FORMS_H

#include <stdint.h>

/* Which bits of a packet's payload are the address's, from bit 2 on; and which bits of which
 * address before they replace. */
struct address_form {
    uint64_t taken, replaced, history;
};

enum {
    FORM_MATCH,
    FORM_SHORT = 3,
    FORM_SHORT_CONTINUED,
    FORM_LONG,
    FORM_LONG_64,
    FORMS,
};

/* By a packet's header and, from 256 on, whether the byte behind that says that one follows. */
struct address_forms {
    uint8_t sizes[512]; /* of the packet, which the next one has to wait for; 0 for other packets */
    uint8_t numbers[512]; /* in `forms` */
    struct address_form forms[FORMS];
};

#define BY_HEADER(header, one, other) [header] = (one), [0x100 + (header)] = (other)

static const struct address_forms address_forms = {
    .sizes = {BY_HEADER(0x90, 1, 1), BY_HEADER(0x91, 1, 1), BY_HEADER(0x92, 1, 1),
              BY_HEADER(0x95, 2, 3), BY_HEADER(0x9a, 5, 5), BY_HEADER(0x9d, 9, 9)},
    .numbers = {BY_HEADER(0x90, FORM_MATCH, FORM_MATCH),
                BY_HEADER(0x91, FORM_MATCH + 1, FORM_MATCH + 1),
                BY_HEADER(0x92, FORM_MATCH + 2, FORM_MATCH + 2),
                BY_HEADER(0x95, FORM_SHORT, FORM_SHORT_CONTINUED),
                BY_HEADER(0x9a, FORM_LONG, FORM_LONG), BY_HEADER(0x9d, FORM_LONG_64, FORM_LONG_64)},
    .forms = {
        [FORM_MATCH] = {.history = 0},
        [FORM_MATCH + 1] = {.history = 1},
        [FORM_MATCH + 2] = {.history = 2},
        [FORM_SHORT] = {.taken = 0x7f, .replaced = 0x1fc},
        [FORM_SHORT_CONTINUED] = {.taken = 0xff7f, .replaced = 0x1fffc},
        [FORM_LONG] = {.taken = 0xffff7f7f, .replaced = 0xffffffff},
        [FORM_LONG_64] = {.taken = UINT64_C(0xffffffffffff7f7f), .replaced = UINT64_MAX},
    }};

#undef BY_HEADER

#endif
