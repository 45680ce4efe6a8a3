#include "emulate/user/block.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "emulate/qemu_plugin_api.h"

#include <pthread.h>
#include <string.h>

/* Translated code is the emulator's state, one per process, as QEMU's own tables are. */
static struct {
    pthread_mutex_t lock;
    struct csp_arena arena;
    struct csp_map newest; /* start → number of the newest block there, plus 1 */
    CSP_VEC(struct csp_block *) blocks;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void describe(struct csp_block *block, const struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    uint32_t word = 0, digest = 0;
    for (size_t i = 0; i < count; i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        memcpy(&word, qemu_plugin_insn_data(insn), sizeof word);
        digest = (digest ^ word) * 0x9e3779b1u;
        digest ^= digest >> 15;
    }
    *block = (struct csp_block){
        .start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)),
        .instructions = (uint32_t)count,
        .digest = digest,
    };
    block->end = block->start + 4 * count;
    struct csp_flow flow = csp_flow_of(word);
    block->kind = flow.kind;
    block->target_register = flow.target;
    if (flow.offset || flow.kind == CSP_FLOW_DIRECT || flow.kind == CSP_FLOW_CALL ||
        flow.kind == CSP_FLOW_CONDITIONAL)
        block->target = csp_block_last(block) + (uint64_t)flow.offset;
}

struct csp_block *csp_block_of(const struct qemu_plugin_tb *tb)
{
    struct csp_block now;
    describe(&now, tb);
    pthread_mutex_lock(&table.lock);
    uint64_t *newest = csp_map_at(&table.newest, now.start);
    struct csp_block *first = *newest ? table.blocks.data[*newest - 1] : NULL;
    struct csp_block *block = first;
    while (block && (block->instructions != now.instructions || block->digest != now.digest))
        block = block->older;
    if (!block) {
        now.number = (uint32_t)table.blocks.len;
        now.older = first;
        block = csp_arena_alloc(&table.arena, sizeof *block);
        *block = now;
        csp_vec_push(&table.blocks, block);
        *newest = table.blocks.len;
    }
    pthread_mutex_unlock(&table.lock);
    return block;
}

struct csp_block *csp_block_at(uint32_t number)
{
    pthread_mutex_lock(&table.lock);
    struct csp_block *block = number < table.blocks.len ? table.blocks.data[number] : NULL;
    pthread_mutex_unlock(&table.lock);
    return block;
}
