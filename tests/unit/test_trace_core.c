/* What the virtual trace core emits, event by event, and that OpenCSD reads the same from it. */
#include "unit.h"

#include "base/alloc.h"
#include "emulate/atoms.h"
#include "emulate/flow.h"
#include "emulate/frame.h"
#include "emulate/trace_unit.h"

#include <opencsd/c_api/opencsd_c_api.h>
#include <stdlib.h>
#include <string.h>

static void assert_bytes(const struct csp_buf *buf, const char *hex)
{
    struct csp_buf text = {0};
    for (size_t i = 0; i < buf->len; i++)
        csp_buf_printf(&text, "%s%02x", i ? " " : "", (uint8_t)buf->data[i]);
    assert_string_equal(text.len ? text.data : "", hex);
    csp_buf_free(&text);
}

/* The packets of a raw stream, one a line, as OpenCSD prints them. */
static ocsd_datapath_resp_t collect_packet(const void *context, const ocsd_datapath_op_t op,
                                           const ocsd_trc_index_t index, const void *packet)
{
    (void)index;
    struct csp_buf *text = (struct csp_buf *)(uintptr_t)context;
    char line[512];
    if (op != OCSD_OP_DATA)
        return OCSD_RESP_CONT;
    ocsd_pkt_str(OCSD_PROTOCOL_ETMV4I, packet, line, sizeof line);
    csp_buf_printf(text, "%s\n", line);
    return OCSD_RESP_CONT;
}

static char *read_by_opencsd(const void *data, size_t size)
{
    struct csp_buf text = {0};
    ocsd_etmv4_cfg config = {
        .reg_idr0 = CSP_CORE_IDR0,
        .reg_idr1 = CSP_CORE_IDR1_ETMV4,
        .reg_idr2 = CSP_CORE_IDR2,
        .reg_configr = CSP_CONFIGR_CONTEXT_ID | CSP_CONFIGR_TIMESTAMP | CSP_CONFIGR_CYCLE_COUNT,
        .reg_traceidr = 0x10,
        .arch_ver = ARCH_V8,
        .core_prof = profile_CortexA,
    };
    unsigned char id;
    uint32_t used;
    dcd_tree_handle_t tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
    assert_int_equal(ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I,
                                            OCSD_CREATE_FLG_PACKET_PROC, &config, &id),
                     OCSD_OK);
    void *callback = (void *)(uintptr_t)collect_packet;
    assert_int_equal(
        ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_SINK, callback, &text), OCSD_OK);
    assert_int_equal(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, (uint32_t)size, data, &used),
                     OCSD_RESP_CONT);
    ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
    ocsd_destroy_dcd_tree(tree);
    assert_int_equal(used, size);
    return text.data;
}

static struct csp_trace_core make_core(void)
{
    return (struct csp_trace_core){
        .configr = CSP_CONFIGR_CONTEXT_ID | CSP_CONFIGR_TIMESTAMP,
        .context_id = 0x11223344,
    };
}

static void sync_is_a_sync_and_trace_info(void **state)
{
    (void)state;
    struct csp_trace_core core = make_core();
    csp_core_sync(&core);
    assert_bytes(&core.out, "00 00 00 00 00 00 00 00 00 00 00 80 01 01 00");
    csp_buf_free(&core.out);
}

static void trace_on_flushes_atoms_first(void **state)
{
    (void)state;
    struct csp_trace_core core = make_core();
    csp_core_atom(&core, true);
    csp_core_trace_on(&core);
    assert_bytes(&core.out, "f7 04");
    csp_buf_free(&core.out);
}

static void address_with_context_is_always_complete(void **state)
{
    (void)state;
    struct csp_trace_core core = make_core();
    /*                A[8:2] A[15:9] … A[63:56]            info context ID */
    csp_core_address_context(&core, 0x0000aaaabbbbc124, 0, true);
    assert_bytes(&core.out, "85 49 60 bb bb aa aa 00 00 b0 44 33 22 11");
    core.out.len = 0;
    csp_core_address_context(&core, 0xffff800080010c00, 1, false);
    assert_bytes(&core.out, "85 00 06 01 80 00 80 ff ff 31");
    csp_buf_free(&core.out);
}

static void address_takes_the_shortest_form(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        const char *bytes;
    } steps[] = {
        {0x0000aaaabbbbc124, "9d 49 60 bb bb aa aa 00 00"}, /* 64 bits: above bit 31 all is new */
        {0x0000aaaabbbbc008, "95 02"},                      /* short, A[8:2] */
    };
    struct csp_trace_core core = make_core();
    for (int i = 0; i < 2; i++) {
        core.out.len = 0;
        csp_core_address(&core, steps[i].address);
        assert_bytes(&core.out, steps[i].bytes);
    }
    core.out.len = 0;
    csp_core_address(&core, 0x0000aaaabbbaf010); /* bit 16 changed: short, A[16:9] */
    assert_bytes(&core.out, "95 84 78");
    core.out.len = 0;
    csp_core_address(&core, 0x0000aaaabb000000); /* bit 17 changed: 32 bits */
    assert_bytes(&core.out, "9a 00 00 00 bb");
    core.out.len = 0;
    csp_core_address(&core, 0x0000aaaabb000000); /* exact match with the newest … */
    assert_bytes(&core.out, "90");
    core.out.len = 0;
    csp_core_address(&core, 0x0000aaaabbbaf010); /* … and with the oldest of the three */
    assert_bytes(&core.out, "92");
    core.out.len = 0;
    csp_core_address(&core, 0x0000aaaabb000000); /* matching moved it to the front */
    assert_bytes(&core.out, "91");
    csp_buf_free(&core.out);
}

static void atoms_pack_into_the_densest_format(void **state)
{
    (void)state;
    static const struct {
        const char *atoms; /* oldest first */
        const char *bytes;
    } cases[] = {
        {"N", "f6"},
        {"E", "f7"},
        {"EN", "d9"},
        {"NE", "da"},
        {"EEN", "fb"},
        {"NEN", "fa"},
        {"EEE", "ff"},
        {"NEEE", "dc"},
        {"NNNN", "dd"},
        {"NENE", "de"},
        {"ENEN", "df"},
        {"NEEEE", "f5"},
        {"NNNNN", "d5"},
        {"NENEN", "d6"},
        {"ENENE", "d7"},
        {"EEEN", "e0"},
        {"EEEE", "c0"},
        {"EEEEN", "e1"},
        {"EEEEEEEEEEEEEEEEEEEEEEEE", "d4"},
        {"EEEEEEEEEEEEEEEEEEEEEEEN", "f4"},
        {"EEEEEEEEEEEEEEEEEEEEEEEEN", "d4 f6"},
        {"EENN", "fb f6"},
        {"NNEEEE", "fc ff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csp_trace_core core = make_core();
        for (const char *atom = cases[i].atoms; *atom; atom++)
            csp_core_atom(&core, *atom == 'E');
        csp_core_flush(&core);
        assert_bytes(&core.out, cases[i].bytes);
        csp_buf_free(&core.out);
    }
}

static void every_sequence_of_atoms_survives_packing(void **state)
{
    (void)state;
    for (uint32_t sequence = 0; sequence < 1 << 12; sequence++) {
        struct csp_trace_core core = make_core();
        csp_core_sync(&core);
        for (int i = 0; i < 12; i++)
            csp_core_atom(&core, sequence >> i & 1);
        csp_core_flush(&core);
        char *text = read_by_opencsd(core.out.data, core.out.len);
        int read = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            if (strncmp(line, "I_ATOM", 6) != 0)
                continue;
            for (const char *atom = strrchr(line, ' ') + 1; *atom; atom++)
                assert_int_equal(*atom == 'E', sequence >> read++ & 1);
        }
        assert_int_equal(read, 12);
        free(text);
        csp_buf_free(&core.out);
    }
}

static void exceptions_carry_type_and_return_address(void **state)
{
    (void)state;
    struct csp_trace_core core = make_core();
    csp_core_exception(&core, CSP_EXCEPTION_CALL, 0x400100, false);
    assert_bytes(&core.out, "06 05 9a 40 00 40 00");
    core.out.len = 0;
    csp_core_exception(&core, CSP_EXCEPTION_IRQ, 0x400104, true);
    assert_bytes(&core.out, "06 5c 95 41");
    csp_buf_free(&core.out);
}

static void timestamps_send_only_what_changed(void **state)
{
    (void)state;
    struct csp_trace_core core = make_core();
    csp_core_timestamp(&core, 0x0123456789abcdef); /* the first is complete */
    assert_bytes(&core.out, "02 ef 9b af cd f8 ac d1 91 01");
    core.out.len = 0;
    csp_core_timestamp(&core, 0x0123456789abcdee);
    assert_bytes(&core.out, "02 6e");
    core.out.len = 0;
    csp_core_timestamp(&core, 0x0123456789abce6e);
    assert_bytes(&core.out, "02 ee 1c");
    core.out.len = 0;
    csp_core_timestamp(&core, 0x0123456789abce6e); /* equal: one byte all the same */
    assert_bytes(&core.out, "02 6e");
    core.out.len = 0;
    core.configr = 0;
    csp_core_timestamp(&core, 1);
    assert_bytes(&core.out, "");
    csp_buf_free(&core.out);
}

static struct csp_trace_unit make_unit(void)
{
    return (struct csp_trace_unit){.core = make_core(), .kernel_vectors = 0xffff800080010800};
}

/* The names of the packets with their addresses, atoms and exceptions are `expected`. */
static void assert_packets(const struct csp_trace_unit *unit, const char *expected)
{
    struct csp_buf text = {0};
    char *lines = read_by_opencsd(unit->core.out.data, unit->core.out.len);
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        const char *address = strstr(line, "Addr=");
        const char *detail = strncmp(line, "I_EXCEPT", 8) ? NULL : strstr(line, ".;  ");
        char *end = strchr(line, ' ');
        *end = '\0';
        csp_buf_printf(&text, "%s", line);
        if (strncmp(line, "I_ATOM", 6) == 0)
            csp_buf_printf(&text, " %s", strrchr(end + 1, ' ') + 1);
        if (address)
            csp_buf_printf(&text, " %llx", strtoull(address + 5, NULL, 16));
        if (detail)
            csp_buf_printf(&text, " %s", detail + 4);
        csp_buf_add_char(&text, '\n');
    }
    assert_string_equal(text.data, expected);
    csp_buf_free(&text);
    free(lines);
}

static void a_window_with_a_system_call_and_an_interrupt(void **state)
{
    (void)state;
    struct csp_trace_unit unit = make_unit();
    csp_unit_enable(&unit);
    csp_unit_enter(&unit, 0x400000, 100);
    csp_unit_branch(&unit, CSP_FLOW_CONDITIONAL, true, 0x400010);
    csp_unit_enter(&unit, 0x400100, 103);
    csp_unit_branch(&unit, CSP_FLOW_RETURN, true, 0);
    csp_unit_enter(&unit, 0x400020, 106);
    csp_unit_exception(&unit, CSP_EXCEPTION_CALL, 0x400028, 108);
    csp_unit_enter(&unit, 0x400028, 300);
    csp_unit_branch(&unit, CSP_FLOW_INDIRECT, true, 0);
    csp_unit_exception(&unit, CSP_EXCEPTION_IRQ, 0x400200, 310); /* before its target ran */
    csp_unit_disable(&unit);
    assert_packets(&unit, "I_ASYNC\n"
                          "I_TRACE_INFO\n"
                          "I_TRACE_ON\n"
                          "I_ADDR_CTXT_L_64IS0 400000\n"
                          "I_ATOM_F1 E\n"
                          "I_TIMESTAMP\n"
                          "I_ATOM_F1 E\n"
                          "I_ADDR_S_IS0 400020\n"
                          "I_EXCEPT Call; Ret Addr Follows;\n"
                          "I_ADDR_S_IS0 400028\n"
                          "I_ADDR_CTXT_L_64IS0 ffff800080010c00\n"
                          "I_TIMESTAMP\n"
                          "I_TRACE_ON\n"
                          "I_ADDR_CTXT_L_64IS0 400028\n"
                          "I_ATOM_F1 E\n"
                          "I_EXCEPT IRQ; Ret Addr Follows, Match Prev;\n"
                          "I_ADDR_S_IS0 400200\n"
                          "I_ADDR_CTXT_L_64IS0 ffff800080010c80\n"
                          "I_TIMESTAMP\n");
    csp_buf_free(&unit.core.out);
}

static void synchronises_again_within_a_long_run(void **state)
{
    (void)state;
    struct csp_trace_unit unit = make_unit();
    unit.synchronisation_bytes = 16;
    csp_unit_enable(&unit);
    csp_unit_enter(&unit, 0x400000, 1);
    csp_unit_enter(&unit, 0x400010,
                   1); /* no branch led here: a decoder would lose what ran before */
    csp_unit_branch(&unit, CSP_FLOW_RETURN, true, 0);
    csp_unit_enter(&unit, 0x7f0000000000, 2);
    assert_packets(&unit, "I_ASYNC\n"
                          "I_TRACE_INFO\n"
                          "I_TRACE_ON\n"
                          "I_ADDR_CTXT_L_64IS0 400000\n"
                          "I_ATOM_F1 E\n"
                          "I_ADDR_L_64IS0 7f0000000000\n"
                          "I_ASYNC\n"
                          "I_TRACE_INFO\n"
                          "I_ADDR_CTXT_L_64IS0 7f0000000000\n"
                          "I_TIMESTAMP\n");
    csp_buf_free(&unit.core.out);
}

static void a_return_stack_leaves_out_where_returns_go(void **state)
{
    (void)state;
    struct csp_trace_unit unit = make_unit();
    unit.core.configr = CSP_CONFIGR_RETURN_STACK;
    csp_unit_enable(&unit);
    csp_unit_enter(&unit, 0x400000, 0);
    csp_unit_branch(&unit, CSP_FLOW_CALL, true, 0x400004);
    csp_unit_enter(&unit, 0x400100, 0);
    csp_unit_branch(&unit, CSP_FLOW_INDIRECT_CALL, true, 0x400108);
    csp_unit_enter(&unit, 0x400200, 0);
    csp_unit_branch(&unit, CSP_FLOW_RETURN, true, 0);
    csp_unit_enter(&unit, 0x400108, 0); /* as the stack says */
    csp_unit_branch(&unit, CSP_FLOW_RETURN, true, 0);
    csp_unit_enter(&unit, 0x400010, 0); /* elsewhere: the stack stays */
    csp_unit_branch(&unit, CSP_FLOW_INDIRECT, true, 0);
    csp_unit_enter(&unit, 0x400004, 0);
    csp_unit_branch(&unit, CSP_FLOW_RETURN, true, 0); /* and now it is empty */
    csp_unit_enter(&unit, 0x400004, 0);
    csp_unit_disable(&unit);
    assert_packets(&unit, "I_ASYNC\n"
                          "I_TRACE_INFO\n"
                          "I_TRACE_ON\n"
                          "I_ADDR_CTXT_L_64IS0 400000\n"
                          "I_ATOM_F2 EE\n"
                          "I_ADDR_S_IS0 400200\n"
                          "I_ATOM_F2 EE\n"
                          "I_ADDR_S_IS0 400010\n"
                          "I_ATOM_F2 EE\n"
                          "I_ADDR_S_IS0 400004\n");
    csp_buf_free(&unit.core.out);
}

static void branch_broadcast_tells_where_direct_branches_go(void **state)
{
    (void)state;
    struct csp_trace_unit unit = make_unit();
    unit.core.configr = CSP_CONFIGR_BRANCH_BROADCAST;
    unit.broadcasts = true;
    csp_unit_enable(&unit);
    csp_unit_enter(&unit, 0x400000, 0);
    csp_unit_branch(&unit, CSP_FLOW_CONDITIONAL, true, 0);
    csp_unit_enter(&unit, 0x400020, 0);
    csp_unit_branch(&unit, CSP_FLOW_CONDITIONAL, false, 0); /* goes on: nothing to tell */
    csp_unit_enter(&unit, 0x400024, 0);
    csp_unit_branch(&unit, CSP_FLOW_DIRECT, true, 0);
    csp_unit_exception(&unit, CSP_EXCEPTION_IRQ, 0x400100, 0); /* its address is not the branch's */
    csp_unit_disable(&unit);
    assert_packets(&unit, "I_ASYNC\n"
                          "I_TRACE_INFO\n"
                          "I_TRACE_ON\n"
                          "I_ADDR_CTXT_L_64IS0 400000\n"
                          "I_ATOM_F1 E\n"
                          "I_ADDR_S_IS0 400020\n"
                          "I_ATOM_F2 NE\n"
                          "I_EXCEPT IRQ; Ret Addr Follows;\n"
                          "I_ADDR_S_IS0 400100\n"
                          "I_ADDR_CTXT_L_64IS0 ffff800080010c80\n");
    csp_buf_free(&unit.core.out);
}

static void cycle_counts_keep_to_the_threshold(void **state)
{
    (void)state;
    struct csp_trace_unit unit = make_unit();
    unit.core.configr = CSP_CONFIGR_CYCLE_COUNT;
    unit.core.cycle_threshold = 0x100;
    csp_unit_enable(&unit);
    static const uint64_t cycles[] = {5000, 5010, 5300, 5555, 5556, 6000};
    for (size_t i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        unit.cycle = cycles[i];
        csp_unit_enter(&unit, 0x400000, 0);
        csp_unit_branch(&unit, CSP_FLOW_DIRECT, true, 0);
    }
    csp_unit_disable(&unit);
    /* Since when the first counts is not known (no count, which reads as 0); it comes at 5010. */
    char *text = read_by_opencsd(unit.core.out.data, unit.core.out.len);
    assert_non_null(strstr(text, "CC_THRESHOLD=0x100"));
    static const char *const counts[] = {"0x0\n", "0x122\n", "0x100\n", "0x1bc\n"};
    const char *at = text;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        at = strstr(at, "I_CCNT_F1");
        assert_non_null(at);
        at = strstr(at, "Count=0x") + strlen("Count=");
        assert_int_equal(strncmp(at, counts[i], strlen(counts[i])), 0);
    }
    assert_null(strstr(at, "I_CCNT"));
    free(text);
    csp_buf_free(&unit.core.out);
}

static void a_disabled_unit_is_silent(void **state)
{
    (void)state;
    struct csp_trace_unit unit = make_unit();
    csp_unit_enter(&unit, 0x400000, 1);
    csp_unit_branch(&unit, CSP_FLOW_DIRECT, true, 0);
    csp_unit_exception(&unit, CSP_EXCEPTION_IRQ, 0x400000, 2);
    assert_int_equal(unit.core.out.len, 0);
}

static void instructions_are_classified_from_their_encoding(void **state)
{
    (void)state;
    static const struct {
        uint32_t word;
        struct csp_flow flow;
    } cases[] = {
        {0x14000001, {CSP_FLOW_DIRECT, 0, 4}},        /* b .+4 */
        {0x17ffffff, {CSP_FLOW_DIRECT, 0, -4}},       /* b .-4 */
        {0x94000010, {CSP_FLOW_CALL, 0, 64}},         /* bl .+64 */
        {0x54ffffe1, {CSP_FLOW_CONDITIONAL, 0, -4}},  /* b.ne .-4 */
        {0x54000050, {CSP_FLOW_CONDITIONAL, 0, 8}},   /* bc.eq .+8 */
        {0xb4000045, {CSP_FLOW_CONDITIONAL, 0, 8}},   /* cbz x5, .+8 */
        {0x35ffffe0, {CSP_FLOW_CONDITIONAL, 0, -4}},  /* cbnz w0, .-4 */
        {0xb7fffff3, {CSP_FLOW_CONDITIONAL, 0, -4}},  /* tbnz x19, #62+1, .-4 */
        {0x36080040, {CSP_FLOW_CONDITIONAL, 0, 8}},   /* tbz w0, #1, .+8 */
        {0xd61f0220, {CSP_FLOW_INDIRECT, 17, 0}},     /* br x17 */
        {0xd71f0a30, {CSP_FLOW_INDIRECT, 17, 0}},     /* braa x17, x16 */
        {0xd63f0060, {CSP_FLOW_INDIRECT_CALL, 3, 0}}, /* blr x3 */
        {0xd63f0c7f, {CSP_FLOW_INDIRECT_CALL, 3, 0}}, /* blrabz x3 */
        {0xd65f03c0, {CSP_FLOW_RETURN, 30, 0}},       /* ret */
        {0xd65f0140, {CSP_FLOW_RETURN, 10, 0}},       /* ret x10 */
        {0xd65f0bff, {CSP_FLOW_RETURN, 30, 0}},       /* retaa */
        {0xd5033fdf, {CSP_FLOW_BARRIER, 0, 0}},       /* isb */
        {0xd5033f9f, {CSP_FLOW_NONE, 0, 0}},          /* dsb sy */
        {0xd4000001, {CSP_FLOW_SYSTEM_CALL, 0, 0}},   /* svc #0 */
        {0xd4200020, {CSP_FLOW_BREAKPOINT, 0, 0}},    /* brk #1 */
        {0x00000000, {CSP_FLOW_UNDEFINED, 0, 0}},     /* udf #0 */
        {0xd503201f, {CSP_FLOW_NONE, 0, 0}},          /* nop */
        {0xd503245f, {CSP_FLOW_NONE, 0, 0}},          /* bti c */
        {0xaa0003e0, {CSP_FLOW_NONE, 0, 0}},          /* mov x0, x0 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csp_flow flow = csp_flow_of(cases[i].word);
        assert_int_equal(flow.kind, cases[i].flow.kind);
        assert_int_equal(flow.offset, cases[i].flow.offset);
        if (csp_flow_is_indirect(flow.kind))
            assert_int_equal(flow.target, cases[i].flow.target);
    }
}

/* The bytes of each ID that OpenCSD's deformatter finds, through its packet interface, would hide
 * the framing; so undo it here by the rules, with every length from 1 byte to several frames. */
static void frames_give_back_their_bytes(void **state)
{
    (void)state;
    for (unsigned size = 1; size <= 80; size++) {
        uint8_t data[80];
        for (unsigned i = 0; i < size; i++)
            data[i] = (uint8_t)(i * 37 + 1);
        struct csp_buf out = {0};
        csp_frame_pack(&out, 0x10, data, size);
        assert_int_equal(out.len % 16, 0);
        unsigned id = 0x7f, next = 0x7f, found = 0;
        for (size_t frame = 0; frame < out.len; frame += 16) {
            const uint8_t *bytes = (const uint8_t *)out.data + frame;
            for (unsigned i = 0; i < 15; i++) {
                bool flag = bytes[15] >> i / 2 & 1;
                if (i % 2 == 0 && (bytes[i] & 1)) {
                    next = bytes[i] >> 1;
                    if (!flag || i == 14)
                        id = next;
                    continue;
                }
                uint8_t value = i % 2 ? bytes[i] : (uint8_t)(bytes[i] | flag);
                if (id == 0x10) {
                    assert_true(found < size);
                    assert_int_equal(value, data[found]);
                    found++;
                } else {
                    assert_int_equal(id, 0);
                    assert_int_equal(value, 0);
                }
                id = next;
            }
        }
        assert_int_equal(found, size);
        csp_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sync_is_a_sync_and_trace_info),
        cmocka_unit_test(trace_on_flushes_atoms_first),
        cmocka_unit_test(address_with_context_is_always_complete),
        cmocka_unit_test(address_takes_the_shortest_form),
        cmocka_unit_test(atoms_pack_into_the_densest_format),
        cmocka_unit_test(every_sequence_of_atoms_survives_packing),
        cmocka_unit_test(exceptions_carry_type_and_return_address),
        cmocka_unit_test(timestamps_send_only_what_changed),
        cmocka_unit_test(a_window_with_a_system_call_and_an_interrupt),
        cmocka_unit_test(synchronises_again_within_a_long_run),
        cmocka_unit_test(a_return_stack_leaves_out_where_returns_go),
        cmocka_unit_test(branch_broadcast_tells_where_direct_branches_go),
        cmocka_unit_test(cycle_counts_keep_to_the_threshold),
        cmocka_unit_test(a_disabled_unit_is_silent),
        cmocka_unit_test(instructions_are_classified_from_their_encoding),
        cmocka_unit_test(frames_give_back_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
