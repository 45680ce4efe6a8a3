/* The probe sections, byte by byte, and what is read from them. */
#include "unit.h"

#include "base/buf.h"
#include "profgen/probes.h"

#include <string.h>

enum { MAIN = 11, CALLEE = 22, SPLIT = 33 };

static void add_function(struct csp_buf *names, uint64_t guid, uint64_t hash, const char *name)
{
    csp_buf_add_u64(names, guid);
    csp_buf_add_u64(names, hash);
    csp_buf_add_u8(names, (uint8_t)strlen(name));
    csp_buf_add_string(names, name);
}

static void begin_record(struct csp_buf *section, uint64_t guid, uint8_t probes, uint8_t inlinees)
{
    csp_buf_add_u64(section, guid);
    csp_buf_add_u8(section, probes);
    csp_buf_add_u8(section, inlinees);
}

/* A probe `distance` bytes (below 64) after the one before it. */
static void add_probe(struct csp_buf *section, uint8_t index, uint8_t type, uint8_t distance)
{
    csp_buf_add_u8(section, index);
    csp_buf_add_u8(section, type | 0x80);
    csp_buf_add_u8(section, distance);
}

static void add_sentinel(struct csp_buf *section, uint64_t symbol_guid)
{
    csp_buf_add_u8(section, 0);
    csp_buf_add_u8(section, 2 << 4);
    csp_buf_add_u64(section, symbol_guid);
}

struct fixture {
    struct csp_buf names, section;
    struct csp_intern texts;
    struct csp_probe_symbols symbols;
    struct csp_probes probes;
};

static void add_symbol(struct fixture *f, uint64_t guid, uint64_t address)
{
    csp_vec_push(&f->symbols.list, (struct csp_probe_symbol){guid, address});
}

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    add_function(&f.names, MAIN, 0x1234, "main");
    add_function(&f.names, CALLEE, 0x5678, "callee");
    add_symbol(&f, MAIN, 0x1000);
    add_symbol(&f, CALLEE, 0x2000);
    add_symbol(&f, SPLIT, 0x3000);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    csp_buf_free(&f->names);
    csp_buf_free(&f->section);
    csp_intern_free(&f->texts);
    csp_vec_free(&f->symbols.list);
    csp_probes_free(&f->probes);
    return 0;
}

static int read_section(struct fixture *f, size_t size)
{
    const uint8_t *names = (const uint8_t *)f->names.data;
    int error = csp_probes_read_names(&f->probes, &f->texts, names, f->names.len, NULL);
    if (!error)
        error = csp_probes_read(&f->probes, &f->texts, (const uint8_t *)f->section.data, size,
                                &f->symbols, NULL);
    csp_probes_seal(&f->probes);
    return error;
}

/* main has a block, a call, and `callee` inlined at probe 3. */
static void write_main(struct csp_buf *section)
{
    begin_record(section, MAIN, 2, 1);
    add_probe(section, 1, CSP_PROBE_BLOCK, 4);
    add_probe(section, 2, CSP_PROBE_DIRECT_CALL, 8);
    csp_buf_add_u8(section, 3);
    begin_record(section, CALLEE, 1, 0);
    add_probe(section, 1, CSP_PROBE_BLOCK, 16);
}

static const struct csp_probe *probe_at(const struct fixture *f, uint64_t address)
{
    size_t at = csp_probes_from(&f->probes, address);
    assert_int_equal(f->probes.by_address.data[at].address, address);
    return &f->probes.probes.data[f->probes.by_address.data[at].probe];
}

static void distances_run_through_inlinees(void **state)
{
    struct fixture *f = *state;
    write_main(&f->section);
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(f->probes.probes.len, 3);
    assert_int_equal(probe_at(f, 0x1004)->index, 1);
    assert_int_equal(probe_at(f, 0x100c)->type, CSP_PROBE_DIRECT_CALL);
    const struct csp_probe_node *inlined = &f->probes.nodes.data[probe_at(f, 0x101c)->node];
    assert_int_equal(inlined->callsite, 3);
    assert_int_equal(f->probes.functions.data[inlined->function].hash, 0x5678);
    assert_int_equal(f->probes.nodes.data[inlined->parent].start, 0x1000);
    assert_int_equal(csp_probes_call_at(&f->probes, 0x1004), CSP_NO_PROBE);
    assert_int_equal(csp_probes_call_at(&f->probes, 0x100c), 1);
}

static void each_function_starts_at_its_symbol(void **state)
{
    struct fixture *f = *state;
    write_main(&f->section);
    begin_record(&f->section, CALLEE, 1, 0);
    add_probe(&f->section, 1, CSP_PROBE_BLOCK, 0);
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(probe_at(f, 0x2000)->index, 1);
}

static void a_sentinel_names_the_symbol_of_a_split_part(void **state)
{
    struct fixture *f = *state;
    begin_record(&f->section, MAIN, 2, 0);
    add_sentinel(&f->section, SPLIT);
    add_probe(&f->section, 5, CSP_PROBE_BLOCK, 12);
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(f->probes.probes.len, 1);
    assert_int_equal(probe_at(f, 0x300c)->index, 5);
    assert_int_equal(f->probes.nodes.data[0].start, 0x3000);
}

static void a_symbol_leads_to_all_functions_of_its_code(void **state)
{
    struct fixture *f = *state;
    for (int part = 0; part < 2; part++) { /* at main's symbol, before and after its own record */
        begin_record(&f->section, CALLEE, 2, 0);
        add_sentinel(&f->section, MAIN);
        add_probe(&f->section, 1, CSP_PROBE_BLOCK, 8);
        if (part == 0)
            write_main(&f->section);
    }
    assert_int_equal(read_section(f, f->section.len), 0);
    const uint64_t *known = csp_map_find(&f->probes.by_start, 0x1000);
    assert_non_null(known);
    const struct csp_probe_node *nodes = f->probes.nodes.data;
    uint32_t own = (uint32_t)(*known - 1), second = nodes[own].next_sibling;
    assert_int_equal(f->probes.functions.data[nodes[own].function].guid, MAIN);
    assert_int_equal(f->probes.functions.data[nodes[second].function].guid, CALLEE);
    assert_int_not_equal(nodes[second].next_sibling, CSP_NO_NODE);
    assert_int_equal(nodes[nodes[second].next_sibling].next_sibling, CSP_NO_NODE);
}

/* Two static functions of one name: the records are in the order of the code. */
static void of_symbols_with_one_name_each_has_its_own_record(void **state)
{
    struct fixture *f = *state;
    add_symbol(f, CALLEE, 0x800);
    for (int copy = 0; copy < 2; copy++) {
        begin_record(&f->section, CALLEE, 1, 0);
        add_probe(&f->section, 1, CSP_PROBE_BLOCK, (uint8_t)(4 * copy));
        if (copy == 0)
            write_main(&f->section);
    }
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(probe_at(f, 0x800)->index, 1);
    assert_int_equal(probe_at(f, 0x2004)->index, 1);
}

/* Of the two only the second was compiled with probes. */
static void a_symbol_without_a_record_gets_no_probes(void **state)
{
    struct fixture *f = *state;
    add_symbol(f, CALLEE, 0x800);
    write_main(&f->section);
    begin_record(&f->section, CALLEE, 1, 0);
    add_probe(&f->section, 1, CSP_PROBE_BLOCK, 4);
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(probe_at(f, 0x2004)->index, 1);
}

static void llvm_profgen_gives_the_last_symbol_all_probes(void **state)
{
    struct fixture *f = *state;
    add_symbol(f, CALLEE, 0x800);
    f->symbols.last_only = true;
    for (int copy = 0; copy < 2; copy++) {
        begin_record(&f->section, CALLEE, 1, 0);
        add_probe(&f->section, 1, CSP_PROBE_BLOCK, (uint8_t)(4 * copy));
    }
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(probe_at(f, 0x2000)->index, 1);
    assert_int_equal(probe_at(f, 0x2004)->index, 1);
}

static void probes_without_a_symbol_are_counted_not_misplaced(void **state)
{
    struct fixture *f = *state;
    begin_record(&f->section, MAIN, 2, 0);
    add_sentinel(&f->section, 99);
    add_probe(&f->section, 5, CSP_PROBE_BLOCK, 12);
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(f->probes.probes.len, 0);
    assert_int_equal(f->probes.unplaced, 1);
}

static void a_missing_guid_gets_its_number_for_a_name(void **state)
{
    struct fixture *f = *state;
    begin_record(&f->section, SPLIT, 1, 0);
    add_probe(&f->section, 1, CSP_PROBE_BLOCK, 0);
    assert_int_equal(read_section(f, f->section.len), 0);
    assert_int_equal(f->probes.missing_guids, 1);
    const struct csp_probe_node *node = &f->probes.nodes.data[0];
    assert_string_equal(csp_intern_text(&f->texts, f->probes.functions.data[node->function].name),
                        "33");
}

static void a_section_cut_anywhere_is_an_error(void **state)
{
    struct fixture *f = *state;
    write_main(&f->section);
    for (size_t size = 1; size < f->section.len; size++) {
        csp_probes_free(&f->probes);
        f->probes = (struct csp_probes){0};
        assert_int_equal(read_section(f, size), -CSP_ERR_INPUT);
    }
    for (size_t size = 1; size < f->names.len; size++) {
        struct csp_probes probes = {0};
        int error =
            csp_probes_read_names(&probes, &f->texts, (const uint8_t *)f->names.data, size, NULL);
        /* Between the two functions is a right place to end. */
        assert_int_equal(error, size == 8 + 8 + 1 + 4 ? 0 : -CSP_ERR_INPUT);
        csp_probes_free(&probes);
    }
}

static void endless_inlining_is_an_error(void **state)
{
    struct fixture *f = *state;
    begin_record(&f->section, MAIN, 0, 1);
    for (int i = 0; i < 5000; i++) {
        csp_buf_add_u8(&f->section, 1);
        begin_record(&f->section, CALLEE, 0, 1);
    }
    assert_int_equal(read_section(f, f->section.len), -CSP_ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(distances_run_through_inlinees, setup, teardown),
        cmocka_unit_test_setup_teardown(each_function_starts_at_its_symbol, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sentinel_names_the_symbol_of_a_split_part, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_symbol_leads_to_all_functions_of_its_code, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(probes_without_a_symbol_are_counted_not_misplaced, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(of_symbols_with_one_name_each_has_its_own_record, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_symbol_without_a_record_gets_no_probes, setup, teardown),
        cmocka_unit_test_setup_teardown(llvm_profgen_gives_the_last_symbol_all_probes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_missing_guid_gets_its_number_for_a_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_section_cut_anywhere_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(endless_inlining_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
