/* Blocks of translated code: the unit in which the emulator tells what runs. One instruction when
 * QEMU steps singly, else up to the next branch. */
#ifndef CSP_EMULATE_USER_BLOCK_H
#define CSP_EMULATE_USER_BLOCK_H

#include "emulate/flow.h"

#include <stdbool.h>
#include <stdint.h>

struct qemu_plugin_tb;

struct csp_block {
    uint64_t start, end;
    uint64_t target; /* of a direct branch at the end, else 0 */
    uint64_t runs;   /* how often it began; kept with a truth file only, atomically */
    uint32_t instructions;
    uint32_t pauses; /* windows that ended before it began, because settings.cover asked for it */
    uint32_t digest; /* of the code: another program may come to the same address */
    uint32_t number; /* from 0 */
    uint8_t kind;    /* enum csp_flow_kind of the last instruction; the others have none */
    uint8_t target_register;
    bool covered;            /* no window need end here */
    struct csp_block *older; /* at the same address */
};

/* The block that QEMU translates now; the same one when it is translated again. Blocks live as long
 * as the process. Safe from any thread. */
struct csp_block *csp_block_of(const struct qemu_plugin_tb *tb);
/* The block with this number, or null past the last. */
struct csp_block *csp_block_at(uint32_t number);

static inline uint64_t csp_block_last(const struct csp_block *block)
{
    return block->end - 4;
}

#endif
