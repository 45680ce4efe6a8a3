/* The plugin of qemu-system-aarch64 that brings the CoreSight devices to life.
 *
 * It watches the kernel's 32-bit stores for those to the devices' pages, every block at EL0, the
 * exception vectors, the store of ELR_EL1 at the kernel's entry, and CONTEXTIDR_EL1. The machine
 * runs in one thread (icount), so nothing here needs a lock. Arguments: ram=FILE truth=FILE
 * log=FILE.
 */
#include "base/arena.h"
#include "emulate/machine/coresight_system.h"
#include "emulate/machine/qemu_system.h"
#include "emulate/qemu_plugin_api.h"

#include <stdio.h>
#include <string.h>

int qemu_plugin_version = CSP_QEMU_PLUGIN_VERSION;

/* The emulated machine: one a process, as QEMU's own is. */
static struct csp_coresight_system machine;
static struct csp_arena codes;

/* stp x22, x23, [sp, #S_PC]: how Linux saves ELR_EL1 and SPSR_EL1 (kernel_entry in entry.S). */
static const uint32_t save_elr = 0xa9105ff6;
/* hint #93, which does nothing: a program marks a place in the truth with the number in x0. */
static const uint32_t mark = 0xd5032bbf;
/* msr contextidr_el1, x0 */
static const uint32_t write_contextidr = 0xd518d020;

static uint32_t word_of(const struct qemu_plugin_insn *insn)
{
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(insn), sizeof word);
    return word;
}

static void on_user_block(unsigned vcpu, void *user)
{
    csp_processor_user(&machine.processors[vcpu], user);
}

static void on_mark(unsigned vcpu, void *user)
{
    (void)user;
    csp_coresight_system_mark(&machine, csp_qemu_register(vcpu, 0));
}

static void on_vector(unsigned vcpu, void *user)
{
    struct csp_processor *processor = &machine.processors[vcpu];
    uint64_t pc = (uint64_t)(uintptr_t)user;
    /* The first kernel code after a program's is at a vector: that tells where they are. */
    if (processor->at_user)
        machine.vectors = pc & ~0x7ffull;
    if (machine.vectors == (pc & ~0x7ffull))
        csp_processor_vector(processor, pc);
}

static uint64_t physical(qemu_plugin_meminfo_t info, uint64_t address)
{
    struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, address);
    return hwaddr ? qemu_plugin_hwaddr_phys_addr(hwaddr) : 0;
}

static void on_save_elr(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    (void)user;
    struct csp_processor *processor = &machine.processors[vcpu];
    if (!processor->entering)
        return;
    /* struct pt_regs: x0 to x30, sp, pc, pstate; sp was stored before. */
    uint64_t sp_and_pc[2];
    const void *at = csp_guest_ram_at(&machine.ram, physical(info, address) - 8, sizeof sp_and_pc);
    if (!at)
        return;
    memcpy(sp_and_pc, at, sizeof sp_and_pc);
    csp_processor_entered(processor, sp_and_pc[1], sp_and_pc[0]);
}

static void on_store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *user)
{
    (void)user;
    uint64_t to = physical(info, address);
    if (csp_coresight_system_owns(to))
        csp_coresight_system_store(&machine, vcpu, to, csp_qemu_clock(vcpu));
}

/* After `msr contextidr_el1, xN`, which ends a block: the register still has the value. */
static void after_contextidr(unsigned vcpu, void *user)
{
    unsigned number = (unsigned)(uintptr_t)user;
    uint64_t value = number == 31 ? 0 : csp_qemu_register(vcpu, number);
    csp_processor_context(&machine.processors[vcpu], (uint32_t)value);
}

static void translate_user(struct qemu_plugin_tb *tb, size_t count)
{
    struct csp_machine_code *code =
        csp_arena_alloc(&codes, sizeof *code + count * sizeof *code->instructions);
    code->page_offset = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) & 0xfff;
    code->count = (uint16_t)count;
    for (size_t i = 0; i < count; i++)
        code->instructions[i] = word_of(qemu_plugin_tb_get_insn(tb, i));
    code->flow = csp_flow_of(code->instructions[count - 1]);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_user_block, 0, code);
    if (code->instructions[0] == mark)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_mark, 0, NULL);
}

/* STR of a W register, with an offset in the instruction or a register. */
static bool stores_word(uint32_t word)
{
    return (word & 0xffc00000) == 0xb9000000 || (word & 0xffe00c00) == 0xb8200800;
}

/* The instruction before a block: what ran last, or else data that no MSR looks like. */
static void watch_contextidr(struct qemu_plugin_tb *tb, const struct qemu_plugin_insn *first)
{
    const char *host = qemu_plugin_insn_haddr(first);
    uint32_t before;
    if (!host || (qemu_plugin_insn_vaddr(first) & 0xfff) == 0)
        return;
    memcpy(&before, host - sizeof before, sizeof before);
    if ((before & ~31u) == write_contextidr)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, after_contextidr, 0,
                                             (void *)(uintptr_t)(before & 31));
}

static void translate_kernel(struct qemu_plugin_tb *tb, size_t count)
{
    struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    uint64_t pc = qemu_plugin_insn_vaddr(first);
    /* Vectors for exceptions from EL0 in AArch64: synchronous, IRQ, FIQ, SError. */
    if ((pc & 0x67f) == 0x400)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_vector, 0, (void *)(uintptr_t)pc);
    watch_contextidr(tb, first);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint32_t word = word_of(insn);
        if (word == save_elr)
            qemu_plugin_register_vcpu_mem_cb(insn, on_save_elr, 0, QEMU_PLUGIN_MEM_W, NULL);
        else if (stores_word(word))
            qemu_plugin_register_vcpu_mem_cb(insn, on_store, 0, QEMU_PLUGIN_MEM_W, NULL);
    }
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(tb);
    if (count == 0)
        return;
    if (qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) >> 55 & 1)
        translate_kernel(tb, count);
    else
        translate_user(tb, count);
}

static void at_exit_of_machine(qemu_plugin_id_t id, void *user)
{
    (void)id;
    (void)user;
    csp_coresight_system_finish(&machine);
    if (machine.log)
        fclose(machine.log);
}

static FILE *open_output(const char *path, bool *failed)
{
    if (!*path)
        return NULL;
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        *failed = true;
    }
    return file;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc,
                        char **argv)
{
    const char *missing = csp_qemu_lookup();
    bool failed = false, have_ram = false;
    if (!info->system_emulation || missing) {
        fprintf(stderr, "machine: %s\n",
                missing ? missing : "this plugin is for qemu-system-aarch64");
        return -1;
    }
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "ram=", 4)) {
            have_ram = csp_guest_ram_open(&machine.ram, argv[i] + 4, CSP_MACHINE_RAM) == 0;
            if (!have_ram)
                perror(argv[i] + 4);
        } else if (!strncmp(argv[i], "truth=", 6)) {
            machine.truth = open_output(argv[i] + 6, &failed);
        } else if (!strncmp(argv[i], "log=", 4)) {
            machine.log = open_output(argv[i] + 4, &failed);
        }
    }
    if (!have_ram || failed || info->system.smp_vcpus > CSP_MACHINE_MOST_CPUS ||
        !csp_guest_ram_at(&machine.ram, CSP_MACHINE_DEVICES, CSP_MACHINE_DEVICES_SIZE)) {
        fprintf(stderr, "machine: ram=FILE of 1 GiB and at most %d CPUs are needed\n",
                CSP_MACHINE_MOST_CPUS);
        return -1;
    }
    csp_coresight_system_reset(&machine, (unsigned)info->system.smp_vcpus);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, at_exit_of_machine, NULL);
    return 0;
}
