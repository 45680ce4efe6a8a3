/* libLLVM says of plain instructions what the table says. */
#include "unit.h"

#include "profgen/code.h"
#include "profgen/plain_insns.h"

#include "profgen/llvm/machine.h"

#include <elf.h>
#include <string.h>

enum { WORDS_OF_A_KIND = 4000 };

static uint8_t flags_by_machine(const struct csp_machine *machine, uint32_t word)
{
    uint8_t bytes[4], flags;
    struct csp_code code = {0};
    memcpy(bytes, &word, sizeof bytes);
    csp_code_add_section(&code, 0x1000, 0x1004, bytes, 0);
    csp_code_disassemble(&code, machine, 0x1000, 0x1004);
    flags = csp_code_flags(&code, 0x1000);
    csp_code_free(&code);
    return flags;
}

/* Alternately few and many of the bits that may be set. */
static uint32_t random_bits(uint64_t *state, bool few)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint32_t high = (uint32_t)(*state >> 32);
    return few ? high & (uint32_t)(*state >> 20) & (high >> 7 | high << 25) : high;
}

static void test_agrees_with_libllvm(void **state)
{
    (void)state;
    struct csp_machine *machine;
    uint64_t random = 1;
    assert_int_equal(csp_machine_create(&machine, EM_AARCH64, NULL), 0);
    for (size_t i = 0; i < csp_plain_insn_kinds; i++) {
        const struct csp_plain_insns *kind = &csp_plain_insns[i];
        for (int n = 0; n < WORDS_OF_A_KIND; n++) {
            uint32_t bits = random_bits(&random, n & 1);
            if (n & 2)
                bits = ~bits;
            uint32_t word = kind->value | (bits & ~kind->mask);
            if (flags_by_machine(machine, word) != kind->flags)
                fail_msg("0x%08x", word);
        }
    }
    csp_machine_destroy(machine);
}

static void test_tells_only_plain_ones(void **state)
{
    (void)state;
    assert_int_equal(csp_plain_insn(0xd65f03c0), CSP_CODE_START | CSP_CODE_RETURN); /* ret */
    assert_int_equal(csp_plain_insn(0x14000001),
                     CSP_CODE_START | CSP_CODE_BRANCH | CSP_CODE_ALWAYS);
    assert_int_equal(csp_plain_insn(0xd65f0bff), 0); /* retaa */
    assert_int_equal(csp_plain_insn(0x54000010), 0); /* bc.eq */
    assert_int_equal(csp_plain_insn(0x00000000), 0); /* udf #0 */
    assert_int_equal(csp_plain_insn(0xffffffff), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_libllvm),
        cmocka_unit_test(test_tells_only_plain_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
