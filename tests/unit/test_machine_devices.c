/* The CoreSight devices that a guest kernel sees: what its drivers write, and what they must read.
 */
#include "unit.h"

#include "base/alloc.h"
#include "emulate/machine/etm4_registers.h"
#include "emulate/machine/etm4_unit.h"
#include "emulate/machine/tmc_etr.h"

#include <stdlib.h>
#include <string.h>

enum { UNLOCK = 0xfb0, CLAIMSET = 0xfa0, CLAIMCLR = 0xfa4, KEY = (int)0xc5acce55 };

/* --- resources --- */

static uint64_t cycles_true(struct csp_etm4_resources *resources, unsigned event, uint64_t cycles,
                            uint64_t piece)
{
    struct csp_etm4_watch watch = {.event = event};
    for (uint64_t done = 0; done < cycles; done += piece)
        csp_etm4_advance(resources, piece, &watch, 1);
    return watch.cycles;
}

/* What the kernel programs for timestamps and for a pulse on an external output. */
static struct csp_etm4_resources self_reloading(uint32_t reload)
{
    return (struct csp_etm4_resources){
        .selectors[2] = 0x20001,
        .counters[0] = {.value = reload, .reload = reload, .control = 0x10001},
    };
}

static void a_self_reloading_counter_is_at_zero_once_in_reload_plus_one_cycles(void **state)
{
    (void)state;
    struct csp_etm4_resources one = self_reloading(99), many = self_reloading(99);
    assert_int_equal(cycles_true(&one, 2, 10000, 10000), 100);
    assert_int_equal(cycles_true(&many, 2, 10000, 7 * 4 + 12), 100);
}

static void selector_one_is_always_true_and_zero_never(void **state)
{
    (void)state;
    struct csp_etm4_resources resources = self_reloading(5);
    assert_int_equal(cycles_true(&resources, 1, 60, 10), 60);
    assert_int_equal(cycles_true(&resources, 0, 60, 10), 0);
}

/* The `strobing` feature: counter 0 measures windows, counter 1 counts them, and the trace is on
 * while counter 1 is at zero. */
static void strobing_is_on_for_one_window_in_period_plus_one(void **state)
{
    (void)state;
    static const uint32_t periods[] = {2, 4, 8, 16};
    for (unsigned i = 0; i < 4; i++) {
        struct csp_etm4_resources resources = {
            .selectors = {[2] = 0x20001, [3] = 0x20002},
            .counters = {{.reload = 499, .control = 0x10001},
                         {.reload = periods[i], .control = 0x8102}},
        };
        uint64_t window = 500, rounds = 20, all = window * (periods[i] + 1) * rounds;
        cycles_true(&resources, 3, all, all); /* past the start, where both are zero */
        assert_int_equal(cycles_true(&resources, 3, all, 100), window * rounds);
    }
}

static void the_sequencer_moves_forward_on_its_event_and_back_to_the_start_on_reset(void **state)
{
    (void)state;
    struct csp_etm4_resources resources = self_reloading(9);
    resources.selectors[3] = 0x20000 | 1 << (4 + 3); /* sequencer state 3 */
    resources.sequencer_events[0] = resources.sequencer_events[1] = resources.sequencer_events[2] =
        2;
    assert_int_equal(cycles_true(&resources, 3, 30, 1), 0);
    assert_int_equal(resources.sequencer, 3);
    resources.sequencer_reset = 3;
    assert_int_equal(cycles_true(&resources, 3, 1, 1), 1);
    assert_int_equal(resources.sequencer, 0);
}

/* --- devices on a piece of RAM: two pages of registers, then a buffer --- */

enum { PAGE = 0x1000, BASE = 0x10000, BUFFER = BASE + 2 * PAGE, BUFFER_SIZE = 0x100 };

struct board {
    struct csp_guest_ram ram;
    struct csp_coresight_device funnel;
    struct csp_tmc_etr etr;
    struct csp_etm4_unit etm;
    uint32_t funnel_page[1024];
};

static void etr_store(struct board *board, unsigned offset, uint32_t value)
{
    csp_coresight_set(&board->etr.device, offset, value);
    csp_tmc_etr_store(&board->etr, offset, value);
}

static void etm_store(struct board *board, unsigned offset, uint32_t value, uint64_t now)
{
    csp_coresight_set(&board->etm.device, offset, value);
    csp_etm4_unit_store(&board->etm, offset, value, now);
}

static uint32_t etr_load(const struct board *board, unsigned offset)
{
    return csp_coresight_get(&board->etr.device, offset);
}

static uint32_t etm_load(const struct board *board, unsigned offset)
{
    return csp_coresight_get(&board->etm.device, offset);
}

static void start_capture(struct board *board)
{
    etr_store(board, 0x004, BUFFER_SIZE / 4);
    etr_store(board, 0x118, BUFFER);
    etr_store(board, 0x304, 0x133);
    etr_store(board, 0x020, 1);
}

static int set_up(void **state)
{
    static const struct csp_coresight_identity funnel = {.part = 0xbb908};
    struct board *board = csp_calloc(1, sizeof *board);
    board->ram = (struct csp_guest_ram){csp_calloc(3, PAGE), BASE, 3 * PAGE};
    csp_coresight_identify(&board->funnel, "funnel", board->funnel_page, &funnel);
    board->funnel_page[0] = 0x701;
    csp_tmc_etr_reset(&board->etr, csp_guest_ram_at(&board->ram, BASE, PAGE), &board->ram);
    csp_etm4_unit_reset(&board->etm, "etm0", csp_guest_ram_at(&board->ram, BASE + PAGE, PAGE));
    board->etm.sink = &board->etr;
    board->etm.funnel = &board->funnel;
    etr_store(board, UNLOCK, (uint32_t)KEY);
    etm_store(board, UNLOCK, (uint32_t)KEY, 0);
    *state = board;
    return 0;
}

static int tear_down(void **state)
{
    struct board *board = *state;
    csp_buf_free(&board->etr.frames);
    csp_buf_free(&board->etm.unit.core.out);
    free(board->ram.data);
    free(board);
    return 0;
}

static void claim_tags_are_set_by_one_register_and_cleared_and_read_by_the_other(void **state)
{
    struct board *board = *state;
    etr_store(board, CLAIMSET, 2);
    assert_int_equal(etr_load(board, CLAIMSET), 0xf);
    assert_int_equal(etr_load(board, CLAIMCLR), 2);
    etr_store(board, CLAIMSET, 1);
    etr_store(board, CLAIMCLR, 2);
    assert_int_equal(etr_load(board, CLAIMCLR), 1);
}

static void a_store_while_the_software_lock_is_on_is_counted(void **state)
{
    struct board *board = *state;
    etr_store(board, CLAIMSET, 2);
    assert_int_equal(board->etr.device.locked_stores, 0);
    etr_store(board, UNLOCK, 0);
    etr_store(board, CLAIMCLR, 2);
    assert_int_equal(board->etr.device.locked_stores, 1);
}

static void a_capture_starts_at_the_buffer_and_stops_on_a_manual_flush(void **state)
{
    struct board *board = *state;
    assert_int_equal(etr_load(board, 0x00c) & 4, 4);
    start_capture(board);
    assert_int_equal(etr_load(board, 0x00c), 0);
    csp_tmc_etr_receive(&board->etr, 0x10, "\x80\x01\x02", 3);
    etr_store(board, 0x304, 0x1133);
    assert_int_equal(etr_load(board, 0x00c) & 4, 0);
    etr_store(board, 0x304, 0x1173);
    assert_int_equal(etr_load(board, 0x304), 0x1133);
    assert_int_equal(etr_load(board, 0x00c) & 5, 4);
    assert_int_equal(etr_load(board, 0x014), BUFFER);
    assert_int_equal(etr_load(board, 0x018), BUFFER + 16);
    const uint8_t *frame = csp_guest_ram_at(&board->ram, BUFFER, 16);
    assert_int_equal(frame[0], 0x10 << 1 | 1);
    assert_int_equal(frame[1], 0x80);
}

static void enabling_again_after_a_stop_starts_anew_without_a_disabling(void **state)
{
    struct board *board = *state;
    start_capture(board);
    csp_tmc_etr_receive(&board->etr, 0x10, "\x80", 1);
    etr_store(board, 0x304, 0x1173);
    start_capture(board);
    assert_int_equal(etr_load(board, 0x018), BUFFER);
    assert_int_equal(etr_load(board, 0x00c), 0);
}

static void a_full_buffer_wraps_and_the_read_pointer_follows(void **state)
{
    struct board *board = *state;
    uint8_t bytes[14] = {0};
    start_capture(board);
    for (unsigned i = 0; i < BUFFER_SIZE / 16 + 1; i++) {
        bytes[0] = (uint8_t)(2 * i);
        csp_tmc_etr_receive(&board->etr, 0x10, bytes, sizeof bytes);
    }
    assert_int_equal(etr_load(board, 0x00c) & 1, 1);
    assert_int_equal(etr_load(board, 0x018), BUFFER + 16);
    assert_int_equal(etr_load(board, 0x014), BUFFER + 16);
    const uint8_t *first = csp_guest_ram_at(&board->ram, BUFFER, 16);
    assert_int_equal(first[1], 2 * (BUFFER_SIZE / 16));
}

static void bytes_that_find_no_capture_are_counted_as_lost(void **state)
{
    struct board *board = *state;
    csp_tmc_etr_receive(&board->etr, 0x10, "\x80\x01", 2);
    assert_int_equal(board->etr.lost_bytes, 2);
    start_capture(board);
    etr_store(board, 0x118, 4096); /* not RAM */
    etr_store(board, 0x020, 0);
    etr_store(board, 0x020, 1);
    csp_tmc_etr_receive(&board->etr, 0x10, "\x80\x01", 2);
    assert_int_equal(board->etr.rejected_bytes, 2);
}

static void program_user_trace(struct board *board)
{
    start_capture(board);
    etm_store(board, TRCOSLAR, 0, 0);
    etm_store(board, TRCCONFIGR, 0x840, 0);
    etm_store(board, TRCTRACEIDR, 0x10, 0);
    etm_store(board, TRCVICTLR, 0x00600201, 0);
}

static void the_status_register_follows_the_enable_register(void **state)
{
    struct board *board = *state;
    program_user_trace(board);
    assert_int_equal(etm_load(board, TRCSTATR), 3);
    etm_store(board, TRCPRGCTLR, 1, 100);
    assert_int_equal(etm_load(board, TRCSTATR), 0);
    etm_store(board, TRCPRGCTLR, 0, 200);
    assert_int_equal(etm_load(board, TRCSTATR), 3);
}

static void the_os_lock_keeps_the_unit_disabled(void **state)
{
    struct board *board = *state;
    program_user_trace(board);
    etm_store(board, TRCOSLAR, 1, 0);
    assert_int_equal(etm_load(board, TRCOSLSR), 0xa);
    etm_store(board, TRCPRGCTLR, 1, 100);
    assert_false(board->etm.unit.enabled);
}

static void identification_cannot_be_overwritten(void **state)
{
    struct board *board = *state;
    uint32_t value = etm_load(board, TRCIDR3);
    etm_store(board, TRCIDR3, 0, 0);
    assert_int_equal(etm_load(board, TRCIDR3), value);
}

static void disabling_hands_the_trace_to_the_sink(void **state)
{
    struct board *board = *state;
    program_user_trace(board);
    etm_store(board, TRCPRGCTLR, 1, 100);
    csp_etm4_unit_enter(&board->etm, 0x400000, 200);
    assert_true(csp_etm4_unit_exception(&board->etm, CSP_EXCEPTION_IRQ, 0x400010, 300));
    etm_store(board, TRCPRGCTLR, 0, 400);
    assert_true(etr_load(board, 0x018) > BUFFER);
    assert_int_equal(board->etm.unit.core.out.len, 0);
}

static void a_closed_port_of_the_funnel_lets_nothing_through(void **state)
{
    struct board *board = *state;
    program_user_trace(board);
    board->funnel_page[0] = 0x702;
    etm_store(board, TRCPRGCTLR, 1, 100);
    csp_etm4_unit_enter(&board->etm, 0x400000, 200);
    etm_store(board, TRCPRGCTLR, 0, 400);
    assert_int_equal(etr_load(board, 0x018), BUFFER);
    assert_true(board->etm.blocked_bytes > 0);
}

static void a_filter_that_excludes_el0_traces_nothing_there(void **state)
{
    struct board *board = *state;
    program_user_trace(board);
    etm_store(board, TRCVICTLR, 0x00500201, 0);
    etm_store(board, TRCPRGCTLR, 1, 100);
    csp_etm4_unit_enter(&board->etm, 0x400000, 200);
    assert_false(csp_etm4_unit_exception(&board->etm, CSP_EXCEPTION_IRQ, 0x400010, 300));
    assert_int_equal(board->etm.unit.core.out.len, 0);
}

static void an_included_address_range_traces_only_its_inside(void **state)
{
    struct board *board = *state;
    program_user_trace(board);
    etm_store(board, TRCACVR0, 0x400100, 0);
    etm_store(board, TRCACVR0 + 8, 0x4001ff, 0);
    etm_store(board, TRCVIIECTLR, 1, 0);
    etm_store(board, TRCPRGCTLR, 1, 100);
    csp_etm4_unit_enter(&board->etm, 0x400000, 200);
    assert_false(board->etm.unit.tracing);
    csp_etm4_unit_enter(&board->etm, 0x400100, 210);
    assert_true(board->etm.unit.tracing);
    csp_etm4_unit_enter(&board->etm, 0x400200, 220);
    assert_false(board->etm.unit.tracing);
}

static void counters_can_be_read_after_a_disabling_and_go_on_from_there(void **state)
{
    struct board *board = *state;
    program_user_trace(board);
    etm_store(board, TRCCNTRLDVR0, 1000, 0);
    etm_store(board, TRCCNTVR0, 1000, 0);
    etm_store(board, TRCCNTCTLR0, 0x10001, 0);
    etm_store(board, TRCPRGCTLR, 1, 100);
    etm_store(board, TRCPRGCTLR, 0, 400);
    assert_int_equal(etm_load(board, TRCCNTVR0), 700);
    etm_store(board, TRCPRGCTLR, 1, 5000);
    etm_store(board, TRCPRGCTLR, 0, 5100);
    assert_int_equal(etm_load(board, TRCCNTVR0), 600);
}

int main(void)
{
#define ON_BOARD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_self_reloading_counter_is_at_zero_once_in_reload_plus_one_cycles),
        cmocka_unit_test(selector_one_is_always_true_and_zero_never),
        cmocka_unit_test(strobing_is_on_for_one_window_in_period_plus_one),
        cmocka_unit_test(the_sequencer_moves_forward_on_its_event_and_back_to_the_start_on_reset),
        ON_BOARD(claim_tags_are_set_by_one_register_and_cleared_and_read_by_the_other),
        ON_BOARD(a_store_while_the_software_lock_is_on_is_counted),
        ON_BOARD(a_capture_starts_at_the_buffer_and_stops_on_a_manual_flush),
        ON_BOARD(enabling_again_after_a_stop_starts_anew_without_a_disabling),
        ON_BOARD(a_full_buffer_wraps_and_the_read_pointer_follows),
        ON_BOARD(bytes_that_find_no_capture_are_counted_as_lost),
        ON_BOARD(the_status_register_follows_the_enable_register),
        ON_BOARD(the_os_lock_keeps_the_unit_disabled),
        ON_BOARD(identification_cannot_be_overwritten),
        ON_BOARD(disabling_hands_the_trace_to_the_sink),
        ON_BOARD(a_closed_port_of_the_funnel_lets_nothing_through),
        ON_BOARD(a_filter_that_excludes_el0_traces_nothing_there),
        ON_BOARD(an_included_address_range_traces_only_its_inside),
        ON_BOARD(counters_can_be_read_after_a_disabling_and_go_on_from_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
