#include "decode/trace/native/walker.h"

#include "base/bytes.h"
#include "decode/code/aarch64.h"

void csp_walker_free(struct csp_walker *walker)
{
    csp_regions_free(&walker->regions);
}

void csp_walker_reset(struct csp_walker *walker)
{
    walker->needs_address = walker->needs_context = walker->pc_is_stale = true;
    walker->is_64bit = walker->pc_is_unmapped = false;
    walker->isa = CSP_ISA_A32;
    walker->block = CSP_BLOCK_UNKNOWN;
    walker->pc = 0;
    walker->table = NULL;
    walker->pop_pending = walker->stack_waits = false;
    walker->context_id = 0;
    csp_return_stack_clear(&walker->stack);
}

/* Execution is where it is, but what is there has to be looked up again. */
static void leave_region(struct csp_walker *walker)
{
    if (walker->block >= CSP_BLOCK_FIRST)
        walker->pc =
            walker->base + csp_block_start(csp_block_numbered(walker->table, walker->block));
    walker->block = CSP_BLOCK_UNKNOWN;
    walker->table = NULL;
    walker->pc_is_unmapped = false;
}

void csp_walker_forget_regions(struct csp_walker *walker)
{
    leave_region(walker);
    csp_regions_forget(&walker->regions);
}

void csp_walker_set_context(struct csp_walker *walker, uint64_t context_id)
{
    walker->context_id = context_id;
    leave_region(walker);
}

static uint8_t isa_of(const struct csp_walker *walker, uint8_t isa)
{
    if (walker->is_64bit)
        return CSP_ISA_A64;
    return isa ? CSP_ISA_T32 : CSP_ISA_A32;
}

static void move_to(struct csp_walker *walker, uint64_t address)
{
    walker->pc = address;
    walker->pc_is_stale = walker->pc_is_unmapped = false;
    walker->block = CSP_BLOCK_UNKNOWN;
}

void csp_walker_jump(struct csp_walker *walker, uint64_t address, uint8_t isa)
{
    move_to(walker, address);
    walker->isa = isa_of(walker, isa);
    walker->needs_address = walker->pop_pending = walker->stack_waits = false;
}

void csp_walker_set_width(struct csp_walker *walker, bool is_64bit, uint8_t isa)
{
    walker->is_64bit = is_64bit;
    walker->isa = isa_of(walker, isa);
    walker->pc_is_unmapped = false;
    if (walker->block >= CSP_BLOCK_FIRST && walker->table->isa != walker->isa)
        leave_region(walker);
    walker->needs_context = false;
}

static uint64_t current(const struct csp_walker *walker)
{
    if (walker->block < CSP_BLOCK_FIRST)
        return walker->pc;
    return walker->base + csp_block_start(csp_block_numbered(walker->table, walker->block));
}

static void add_no_code(struct csp_walker *walker)
{
    csp_element_batch_add(walker->out, CSP_ELEMENT_NO_CODE, walker->source)->a = walker->pc;
    walker->needs_address = walker->pc_is_stale = true;
}

static void add_range(struct csp_walker *walker, uint64_t start, uint64_t end,
                      enum csp_branch_kind kind, bool taken)
{
    struct csp_element *range =
        csp_element_batch_add(walker->out, CSP_ELEMENT_RANGE, walker->source);
    range->kind = (uint8_t)kind;
    range->taken = taken;
    range->last_size = 4;
    range->instructions = (uint32_t)((end - start) / 4);
    range->a = start;
    range->b = end;
}

/* The mapping that holds `address`; null when none does. */
static const struct csp_region *region_at(struct csp_walker *walker, uint64_t address)
{
    if (walker->regions.context_id != walker->context_id) {
        csp_regions_forget(&walker->regions);
        walker->regions.context_id = walker->context_id;
    }
    const struct csp_region *region = csp_regions_find(&walker->regions, address);
    struct csp_code_region found;
    if (region)
        return region;
    if (!walker->code->find(walker->code->user, walker->source, walker->context_id, address,
                            &found))
        return NULL;
    return csp_regions_add(&walker->regions, &found, walker->waits, address);
}

void csp_walker_change_region(struct csp_walker *walker, const struct csp_region *region)
{
    if (region->number != walker->region.number)
        walker->regions.left = walker->region.number;
    walker->table = region->table;
    walker->base = region->code.base;
    walker->region = *region;
}

/* Makes the region that holds `address` the one in force, and tells the address's word in its
 * table; false when there is no code that can be walked. */
static bool enter(struct csp_walker *walker, uint64_t address, uint32_t *word)
{
    bool is_in_force = walker->table && csp_region_holds(&walker->region, address);
    const struct csp_region *region = is_in_force ? &walker->region : region_at(walker, address);
    if (!region || (address & 3) || walker->isa != CSP_ISA_A64 || !region->table)
        return false;
    uint64_t offset = (address - region->code.base) / 4;
    if (offset >= region->table->words)
        return false;
    if (!is_in_force)
        csp_walker_change_region(walker, region);
    *word = (uint32_t)offset;
    return true;
}

bool csp_walker_find_word(struct csp_walker *walker, uint32_t *word)
{
    if (walker->block >= CSP_BLOCK_FIRST) {
        *word = csp_block_start(csp_block_numbered(walker->table, walker->block)) / 4;
        return true;
    }
    walker->pc_is_unmapped = walker->pc_is_unmapped || !enter(walker, walker->pc, word);
    return !walker->pc_is_unmapped;
}

bool csp_walker_look_up(struct csp_walker *walker)
{
    uint32_t word;
    if (!csp_walker_find_word(walker, &word))
        return false;
    uint32_t slot = csp_block_table_slot(walker->table, word);
    if (slot & CSP_SLOT_RUNS_OUT)
        return false;
    walker->block = slot;
    return true;
}

static uint64_t block_end(const struct csp_walker *walker, const struct csp_block *block)
{
    return walker->base + csp_block_end(block);
}

void csp_walker_await_address(struct csp_walker *walker, uint64_t pc)
{
    walker->pc = pc;
    walker->block = CSP_BLOCK_UNKNOWN;
    walker->needs_address = walker->pc_is_stale = true;
    walker->pc_is_unmapped = false;
    walker->pop_pending = walker->has_return_stack;
}

/* What follows a branch to a register: an address packet, or what the return stack says. */
static void after_indirect(struct csp_walker *walker, enum csp_branch_kind kind, uint64_t pc)
{
    csp_walker_await_address(walker, pc);
    if (walker->returns_by_branch && kind == CSP_BRANCH_EXCEPTION_RETURN)
        csp_element_batch_add(walker->out, CSP_ELEMENT_EXCEPTION_RETURN, walker->source);
}

static void push_return(struct csp_walker *walker, enum csp_branch_kind kind, uint64_t address)
{
    bool is_call = kind == CSP_BRANCH_CALL || kind == CSP_BRANCH_INDIRECT_CALL;
    if (!is_call || walker->stack_waits)
        return;
    csp_return_stack_push(&walker->stack, address);
    walker->pop_pending = false;
}

void csp_walker_leave_block(struct csp_walker *walker, uint32_t number, uint32_t link,
                            unsigned taken)
{
    const struct csp_block *block = csp_block_numbered(walker->table, number);
    if (link == CSP_BLOCK_INDIRECT || link == CSP_BLOCK_RETURN) {
        after_indirect(walker, csp_block_kind(block), block_end(walker, block));
        return;
    }
    if (taken && csp_block_branches(block)) {
        int64_t target = csp_block_table_target(walker->table, number);
        move_to(walker, walker->base + 4 * (uint64_t)target);
        return;
    }
    move_to(walker, block_end(walker, block));
}

/* One waypoint whose block is not in one table: it crosses from one mapping into the next, or the
 * code ends before it. */
static void step_across(struct csp_walker *walker, unsigned taken)
{
    uint64_t start = walker->pc;
    uint32_t word;
    while (!walker->pc_is_unmapped && enter(walker, walker->pc, &word)) {
        uint32_t number = csp_block_table_at(walker->table, word);
        const struct csp_block *block = csp_block_numbered(walker->table, number);
        if (csp_block_runs_out(block)) {
            walker->pc = block_end(walker, block);
            continue;
        }
        uint64_t end = block_end(walker, block);
        add_range(walker, start, end, csp_block_kind(block), taken && csp_block_branches(block));
        if (walker->has_return_stack && taken)
            push_return(walker, csp_block_kind(block), end);
        csp_walker_leave_block(walker, number, csp_way_next(&block->ways[taken]), taken);
        return;
    }
    if (walker->isa != CSP_ISA_A64)
        walker->unsupported++;
    if (walker->pc != start)
        add_range(walker, start, walker->pc, CSP_BRANCH_UNKNOWN, false);
    add_no_code(walker);
}

/* The fast path: from block to block by their links. Stops where there is none, and returns how
 * many waypoints are left. */
static inline __attribute__((always_inline)) unsigned
follow(struct csp_walker *walker, uint64_t bits, unsigned count, bool with_stack)
{
    struct csp_block_table *table = walker->table;
    const csp_range_words bias = CSP_RANGE_BIAS(walker->source, walker->base);
    csp_element_batch_reserve(walker->out, count);
    struct csp_element *out = walker->out->data + walker->out->len;
    uint32_t number = walker->block, link = number;
    do {
        const struct csp_block *block = csp_block_numbered(table, number);
        unsigned taken = bits & 1;
        csp_range_put(out++, &block->ways[taken], &bias);
        bits >>= 1;
        count--;
        if (with_stack && taken)
            push_return(walker, csp_block_kind(block), block_end(walker, block));
        link = csp_way_next(&block->ways[taken]);
        if (link < CSP_BLOCK_FIRST) {
            if (link == CSP_BLOCK_UNKNOWN)
                link = csp_block_table_link(table, number, taken);
            if (link < CSP_BLOCK_FIRST) {
                walker->out->len = (size_t)(out - walker->out->data);
                csp_walker_leave_block(walker, number, link, taken);
                return count;
            }
        }
        number = link;
    } while (count);
    walker->out->len = (size_t)(out - walker->out->data);
    walker->block = number;
    return 0;
}

bool csp_walker_pop(struct csp_walker *walker)
{
    if (!walker->pop_pending)
        return true;
    uint64_t address;
    walker->pop_pending = false;
    if (!csp_return_stack_pop(&walker->stack, &address))
        return false;
    move_to(walker, address);
    walker->needs_address = false;
    return true;
}

bool csp_walker_atoms(struct csp_walker *walker, uint64_t bits, unsigned count)
{
    while (count) {
        if (walker->pop_pending && !csp_walker_pop(walker))
            return false;
        if (walker->needs_address || walker->needs_context)
            return true;
        unsigned left;
        if (walker->block < CSP_BLOCK_FIRST && !csp_walker_look_up(walker)) {
            step_across(walker, bits & 1);
            left = count - 1;
        } else if (walker->has_return_stack) {
            left = follow(walker, bits, count, true);
        } else {
            left = follow(walker, bits, count, false);
        }
        bits >>= (count - left) & 63;
        count = left;
    }
    return true;
}

/* What the instruction at an address does; false when it is not known. */
static bool instruction_at(struct csp_walker *walker, uint64_t address, struct csp_aarch64 *what)
{
    uint32_t word;
    if (walker->isa != CSP_ISA_A64 || !enter(walker, address, &word))
        return false;
    *what = csp_aarch64_classify(csp_load32(walker->table->code + 4 * (size_t)word));
    return true;
}

/* The end of the known code that begins at `address`, but no further than `limit`. */
static uint64_t known_until(struct csp_walker *walker, uint64_t address, uint64_t limit)
{
    uint32_t word;
    while (address < limit && enter(walker, address, &word)) {
        uint64_t end = walker->base + 4 * (uint64_t)walker->table->words;
        address = end < limit ? end : limit;
    }
    return address;
}

/* The kind of the branch at an address; CSP_BRANCH_UNKNOWN when it is not known, or none. */
static enum csp_branch_kind branch_at(struct csp_walker *walker, uint64_t address)
{
    struct csp_aarch64 what;
    bool known = instruction_at(walker, address, &what);
    return known ? (enum csp_branch_kind)what.kind : CSP_BRANCH_UNKNOWN;
}

/* The last instruction of the block that execution is at, in front of which nothing branches; 0
 * when the block was not looked up. */
static uint64_t next_waypoint(const struct csp_walker *walker)
{
    if (walker->block < CSP_BLOCK_FIRST)
        return 0;
    return block_end(walker, csp_block_numbered(walker->table, walker->block)) - 4;
}

void csp_walker_run_to(struct csp_walker *walker, uint64_t address)
{
    uint64_t start = current(walker);
    if (walker->pc_is_stale || walker->needs_context || start >= address)
        return;
    uint64_t waypoint = next_waypoint(walker);
    uint32_t region = walker->region.number;
    uint64_t end = known_until(walker, start, address & 3 ? UINT64_MAX : address);
    if (end > start) {
        /* In the same mapping the block's code is what runs, and need not be looked at. */
        bool is_before = end <= waypoint && walker->region.number == region &&
                         csp_region_holds(&walker->region, end - 4);
        enum csp_branch_kind kind = is_before ? CSP_BRANCH_UNKNOWN : branch_at(walker, end - 4);
        add_range(walker, start, end, kind, kind != CSP_BRANCH_UNKNOWN);
    }
    move_to(walker, end);
    if (end != address)
        add_no_code(walker);
}

void csp_walker_branch_at(struct csp_walker *walker, uint64_t address)
{
    uint64_t start = current(walker), end = address + 4;
    struct csp_aarch64 branch;
    if (walker->needs_context)
        return;
    if (csp_walker_pop(walker))
        start = current(walker);
    if (!instruction_at(walker, address, &branch)) {
        csp_element_batch_add(walker->out, CSP_ELEMENT_NO_CODE, walker->source)->a = address;
        walker->needs_address = true;
        return;
    }
    if (walker->needs_address || start > address)
        start = address;
    if (known_until(walker, start, address) != address) { /* there is a hole on the way */
        csp_element_batch_add(walker->out, CSP_ELEMENT_NO_CODE, walker->source)->a = start;
        start = address;
    }
    walker->needs_address = false;
    bool is_branch =
        branch.type == CSP_AARCH64_BRANCH || branch.type == CSP_AARCH64_BRANCH_INDIRECT;
    add_range(walker, start, end, (enum csp_branch_kind)branch.kind, is_branch);
    if (walker->has_return_stack)
        push_return(walker, (enum csp_branch_kind)branch.kind, end);
    move_to(walker, end);
    if (branch.type == CSP_AARCH64_BRANCH)
        move_to(walker, address + (uint64_t)(int64_t)branch.offset);
    else if (branch.type == CSP_AARCH64_BRANCH_INDIRECT)
        after_indirect(walker, (enum csp_branch_kind)branch.kind, end);
}

/* Whether `count` instructions from `start` on are known to run in a row: none but the last of them
 * is a branch. */
static bool runs_in_a_row(struct csp_walker *walker, uint64_t start, uint64_t end)
{
    uint32_t word;
    while (start < end) {
        if (!enter(walker, start, &word))
            return false;
        const struct csp_block *block =
            csp_block_numbered(walker->table, csp_block_table_at(walker->table, word));
        start = block_end(walker, block);
        if (csp_block_branches(block))
            return start >= end;
    }
    return true;
}

void csp_walker_run_count(struct csp_walker *walker, uint32_t count, uint64_t address, uint8_t isa)
{
    uint64_t start = current(walker), end = start + 4 * (uint64_t)count;
    bool starts = !walker->needs_address && !walker->needs_context;
    struct csp_aarch64 last;
    bool in_a_row = starts && count && runs_in_a_row(walker, start, end) &&
                    instruction_at(walker, end - 4, &last);
    bool is_branch =
        in_a_row && (last.type == CSP_AARCH64_BRANCH || last.type == CSP_AARCH64_BRANCH_INDIRECT);
    if (in_a_row && (is_branch || end == address)) {
        add_range(walker, start, end, (enum csp_branch_kind)last.kind, is_branch);
    } else {
        struct csp_element *element =
            csp_element_batch_add(walker->out, CSP_ELEMENT_NO_PATH, walker->source);
        element->a = start;
        element->b = address;
        element->instructions = count;
    }
    csp_walker_jump(walker, address, isa);
}
