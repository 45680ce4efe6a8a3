/* What code and unwind tables tell of the return address at a PC. */
#include "unit.h"

#include "decode/code/leaf_state.h"

#include <string.h>

enum { BASE = 0x10000, MOST = 8, FUNCTIONS = 2 };

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

/* A file of code at BASE and, from `functions` on, whose numbers are of instructions, unwind tables
 * that say of each that nothing is saved. */
struct file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    uint32_t code[MOST];
    struct {
        uint8_t version, frames_encoding, count_encoding, table_encoding;
        int32_t frames;
        uint32_t count;
        struct {
            int32_t function, entry;
        } table[FUNCTIONS];
    } search;
    uint8_t common[20]; /* .eh_frame: the CIE, and an FDE for each function */
    struct {
        uint32_t length, common;
        int32_t function;
        uint32_t size;
        uint8_t augmentation, operations[3];
    } entries[FUNCTIONS];
    uint32_t end;
};

#define ADDRESS(member) (int32_t)(BASE + offsetof(struct file, member))

static const uint8_t nothing_saved[20] = {
    16, 0,    0,    0,     /* length */
    0,  0,    0,    0,     /* a CIE */
    1,  'z',  'R',  0,     /* addresses have the encoding given below */
    4,  0x78, 30,          /* units of 4 bytes of code, -8 of data; return address: x30 */
    1,  0x1b, 0x0c, 31, 0, /* DW_EH_PE_pcrel | DW_EH_PE_sdata4; the frame begins at SP + 0 */
};

static void fill_header(struct file *file, unsigned segments)
{
    const uint32_t code = offsetof(struct file, code), search = offsetof(struct file, search);
    file->header = (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_AARCH64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = (Elf64_Half)segments,
    };
    file->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                                     .p_flags = PF_R | PF_X,
                                     .p_offset = code,
                                     .p_vaddr = BASE + code,
                                     .p_filesz = sizeof file->code,
                                     .p_memsz = sizeof file->code};
    file->segments[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
                                     .p_flags = PF_R,
                                     .p_offset = search,
                                     .p_vaddr = BASE + search,
                                     .p_filesz = sizeof file->search,
                                     .p_memsz = sizeof file->search};
}

static void fill_tables(struct file *file, const unsigned functions[FUNCTIONS])
{
    const uint8_t pcrel_sdata4 = 0x1b, udata4 = 0x03, datarel_sdata4 = 0x3b;
    file->search.version = 1;
    file->search.frames_encoding = pcrel_sdata4;
    file->search.count_encoding = udata4;
    file->search.table_encoding = datarel_sdata4;
    file->search.frames = ADDRESS(common) - ADDRESS(search.frames);
    file->search.count = FUNCTIONS;
    memcpy(file->common, nothing_saved, sizeof nothing_saved);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        unsigned end = i + 1 < FUNCTIONS ? functions[i + 1] : MOST;
        int32_t function = ADDRESS(code[0]) + 4 * (int32_t)functions[i];
        file->search.table[i].function = function - ADDRESS(search);
        file->search.table[i].entry = ADDRESS(entries[i]) - ADDRESS(search);
        file->entries[i].length = sizeof file->entries[i] - 4;
        file->entries[i].common = (uint32_t)(ADDRESS(entries[i].common) - ADDRESS(common));
        file->entries[i].function = function - ADDRESS(entries[i].function);
        file->entries[i].size = 4 * (end - functions[i]);
    }
}

static struct csp_leaf find_in(struct file *file, const uint32_t *code, unsigned pc)
{
    memcpy(file->code, code, sizeof file->code);
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)file, sizeof *file);
    assert_non_null(elf);
    struct csp_leaf_table *table = csp_leaf_table_create(elf);
    struct csp_leaf leaf = csp_leaf_table_find(table, (uint64_t)ADDRESS(code[0]) + 4 * pc);
    csp_leaf_table_destroy(table);
    elf_end(elf);
    return leaf;
}

static struct csp_leaf find(const uint32_t *code, unsigned pc)
{
    struct file file = {0};
    fill_header(&file, 1);
    return find_in(&file, code, pc);
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

/* The second function begins behind what the first one ends with. */
static void at_a_functions_start(void **state)
{
    (void)state;
    static const struct {
        const char *shows;
        uint32_t code[MOST];
        enum csp_leaf_state expected;
        bool is_known;
    } rows[] = {
        {"x30 is the return address", {ADD, RET, STORE_RECORD, SET_RECORD, RET}, CSP_LEAF_LR, true},
        {"a thread's exit may have its PC: x30 may be what the thread left there",
         {ADD, SVC, STORE_RECORD, SET_RECORD, RET},
         CSP_LEAF_UNKNOWN,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct file file = {0};
        fill_header(&file, 2);
        fill_tables(&file, (const unsigned[FUNCTIONS]){0, 2});
        struct csp_leaf leaf = find_in(&file, rows[i].code, 2);
        if (leaf.state != rows[i].expected)
            fail_msg("%s: %d, expected %d", rows[i].shows, (int)leaf.state, (int)rows[i].expected);
        assert_int_equal(leaf.start, rows[i].is_known ? ADDRESS(code[2]) : 0);
        leaf = find_in(&file, rows[i].code, 1);
        assert_int_equal(leaf.start, ADDRESS(code[0]));
        assert_int_equal(leaf.end, ADDRESS(code[2]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_tables_the_code_tells),
        cmocka_unit_test(at_a_functions_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
