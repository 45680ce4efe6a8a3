/* Code without unwind tables, and what it alone tells of the return address at a PC. */
#include "unit.h"

#include "decode/code/leaf_state.h"

#include <string.h>

enum { BASE = 0x10000, MOST = 8 };

struct code_case {
    const char *shows;
    uint32_t code[MOST];
    enum csp_leaf_state expected;
    unsigned pc; /* of the instructions: 0 is the first */
};

enum {
    NOP = 0xd503201f,
    ADD = 0x11000400,          /* add w0, w0, #1 */
    CBZ = 0x34000060,          /* cbz w0, #12 */
    TBNZ = 0x37000060,         /* tbnz w0, #0, #12 */
    B_EQ = 0x54000060,         /* b.eq #12 */
    B = 0x14000003,            /* b #12 */
    BL = 0x94000003,           /* bl #12 */
    SVC = 0xd4000001,          /* svc #0 */
    RET = 0xd65f03c0,          /* ret */
    BR_X16 = 0xd61f0200,       /* br x16 */
    BR_X3 = 0xd61f0060,        /* br x3 */
    STORE_RECORD = 0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
    LOAD_RECORD = 0xa8c17bfd,  /* ldp x29, x30, [sp], #16 */
    SET_RECORD = 0x910003fd,   /* mov x29, sp */
    LOAD_SAVED = 0xa945101d,   /* ldp x29, x4, [x0, #80] */
    LOAD_OWN = 0xa9407bbd,     /* ldp x29, x30, [x29] */
    B_NE = 0x54000061,         /* b.ne #12 */
    MSR = 0xd51b4424,          /* msr fpsr, x4 */
    BR_X30 = 0xd61f03c0,       /* br x30 */
};

static const struct code_case cases[] = {
    {"a leaf function that returns", {ADD, RET}, CSP_LEAF_LR, 0},
    {"a prologue before its store", {NOP, STORE_RECORD}, CSP_LEAF_LR, 0},
    {"a prologue before x29 is set", {SET_RECORD}, CSP_LEAF_LR, 0},
    {"a linker's stub", {ADD, BR_X16}, CSP_LEAF_LR, 0},
    {"behind clone: the parent returns, whatever the child does", {CBZ, RET}, CSP_LEAF_LR, 0},
    {"a condition, then a prologue", {TBNZ, ADD, STORE_RECORD}, CSP_LEAF_LR, 0},
    {"two conditions, then a return", {B_EQ, CBZ, RET}, CSP_LEAF_LR, 0},
    {"an epilogue", {ADD, LOAD_RECORD, RET}, CSP_LEAF_UNKNOWN, 0},
    {"a condition, then an epilogue", {CBZ, LOAD_RECORD, RET}, CSP_LEAF_UNKNOWN, 0},
    {"a call comes first", {BL, RET}, CSP_LEAF_UNKNOWN, 0},
    {"a jump: not followed", {B, RET}, CSP_LEAF_UNKNOWN, 0},
    {"a jump through a register", {BR_X3, RET}, CSP_LEAF_UNKNOWN, 0},
    {"a system call may be the last thing that a program does",
     {SVC, STORE_RECORD},
     CSP_LEAF_UNKNOWN,
     0},
    {"a longjmp before it loads x29", {LOAD_SAVED, ADD, BR_X30}, CSP_LEAF_UNKNOWN, 0},
    {"a longjmp that has loaded x29", {LOAD_SAVED, ADD, BR_X30}, CSP_LEAF_LONGJMP, 1},
    {"a longjmp that goes", {LOAD_SAVED, ADD, BR_X30}, CSP_LEAF_LONGJMP, 2},
    {"a setcontext, which restores more", {LOAD_SAVED, B_NE, MSR, BR_X16}, CSP_LEAF_LONGJMP, 3},
    {"a function behind a longjmp", {LOAD_SAVED, BR_X30, STORE_RECORD}, CSP_LEAF_LR, 2},
    {"an epilogue that has loaded x29", {LOAD_RECORD, RET}, CSP_LEAF_LR, 1},
    {"the same without the stack pointer", {LOAD_OWN, RET}, CSP_LEAF_LR, 1},
};

static struct csp_leaf find(const uint32_t *code, unsigned pc)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        uint32_t code[MOST];
    } file = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_AARCH64,
                   .e_version = EV_CURRENT,
                   .e_phoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
    };
    file.segment = (Elf64_Phdr){.p_type = PT_LOAD,
                                .p_flags = PF_R | PF_X,
                                .p_offset = offsetof(typeof(file), code),
                                .p_vaddr = BASE,
                                .p_filesz = sizeof file.code,
                                .p_memsz = sizeof file.code};
    memcpy(file.code, code, sizeof file.code);
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)&file, sizeof file);
    assert_non_null(elf);
    struct csp_leaf_table *table = csp_leaf_table_create(elf);
    struct csp_leaf leaf = csp_leaf_table_find(table, BASE + 4 * pc);
    csp_leaf_table_destroy(table);
    elf_end(elf);
    return leaf;
}

static void without_tables_the_code_tells(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csp_leaf leaf = find(cases[i].code, cases[i].pc);
        if (leaf.state != cases[i].expected)
            fail_msg("%s: %d, expected %d", cases[i].shows, (int)leaf.state,
                     (int)cases[i].expected);
        assert_int_equal(leaf.end, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_tables_the_code_tells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
