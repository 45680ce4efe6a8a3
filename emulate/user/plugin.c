/* The plugin for qemu-aarch64: QEMU's callbacks, and the system calls that change what runs. */
#include "emulate/qemu_plugin_api.h"

#include "emulate/user/block.h"
#include "emulate/user/guest.h"
#include "emulate/user/maps.h"
#include "emulate/user/shared_state.h"
#include "emulate/user/vcpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int qemu_plugin_version = CSP_QEMU_PLUGIN_VERSION;

/* include/uapi/asm-generic/unistd.h */
enum {
    SYSTEM_CALL_EXECVE = 221,
    SYSTEM_CALL_EXECVEAT = 281,
    SYSTEM_CALL_SIGACTION = 134,
    SYSTEM_CALL_PRCTL = 167,
    SYSTEM_CALL_MMAP = 222,
    SYSTEM_CALL_MPROTECT = 226,
};

/* Arguments of the thread's system call, for when it returns. */
static __thread uint64_t arguments[3];

static void record_map(void *user, uint64_t start, uint64_t length, uint64_t page_offset,
                       const char *path)
{
    struct csp_vcpu *vcpu = user;
    struct csp_journal_record record = {.type = CSP_JOURNAL_MAP,
                                        .tid = vcpu->tid,
                                        .cpu = vcpu->cpu,
                                        .time = csp_vcpu_now(vcpu),
                                        .a = start,
                                        .b = length,
                                        .c = page_offset};
    csp_machine_record(&record, path, strlen(path));
    if (strcmp(path, CSP_MAPS_ANONYMOUS)) /* it is about what can be known */
        csp_truth_map(&vcpu->truth, start, length, path);
}

static void record_name(struct csp_vcpu *vcpu, const char *name)
{
    struct csp_journal_record record = {
        .type = CSP_JOURNAL_COMM, .tid = vcpu->tid, .cpu = vcpu->cpu, .time = csp_vcpu_now(vcpu)};
    csp_machine_record(&record, name, strlen(name));
}

/* struct sigaction of the kernel: the handler comes first. */
static void note_handler(uint64_t action)
{
    uint64_t handler;
    if (action && csp_guest_read(action, &handler, sizeof handler) && handler > 1)
        csp_machine_add_handler(handler);
}

static void note_name(struct csp_vcpu *vcpu, uint64_t address)
{
    char name[16] = "";
    if (csp_guest_read(address, name, sizeof name - 1))
        record_name(vcpu, name);
}

/* From here on the program is another one and the emulator is gone, unless the call fails. */
static void note_exec(void)
{
    csp_machine.totals.execs++;
    csp_machine_conclude();
}

static void on_system_call(qemu_plugin_id_t id, unsigned index, int64_t number, uint64_t a1,
                           uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                           uint64_t a7, uint64_t a8)
{
    enum { SET_NAME = 15 }; /* PR_SET_NAME */
    (void)id, (void)index, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    struct csp_vcpu *vcpu = csp_vcpu_current();
    if (!vcpu)
        return;
    csp_vcpu_system_call(vcpu, number);
    arguments[0] = a1, arguments[1] = a2, arguments[2] = a3;
    if (number == SYSTEM_CALL_SIGACTION)
        note_handler(a2);
    else if (number == SYSTEM_CALL_PRCTL && a1 == SET_NAME)
        note_name(vcpu, a2);
    else if (number == SYSTEM_CALL_EXECVE || number == SYSTEM_CALL_EXECVEAT)
        note_exec();
}

static void on_system_call_return(qemu_plugin_id_t id, unsigned index, int64_t number,
                                  int64_t result)
{
    enum { ERRORS = 4096 };
    (void)id, (void)index;
    struct csp_vcpu *vcpu = csp_vcpu_current();
    if (!vcpu)
        return;
    csp_vcpu_system_call_return(vcpu);
    bool failed = result < 0 && result > -ERRORS;
    if (number == SYSTEM_CALL_MMAP && !failed && (arguments[2] & PROT_EXEC))
        csp_maps_at((uint64_t)result, arguments[1], record_map, vcpu);
    else if (number == SYSTEM_CALL_MPROTECT && !failed && (arguments[2] & PROT_EXEC))
        csp_maps_at(arguments[0], arguments[1], record_map, vcpu);
    else if (number == SYSTEM_CALL_EXECVE || number == SYSTEM_CALL_EXECVEAT)
        csp_machine.totals.execs--;
}

static void on_first_block(struct csp_vcpu *vcpu)
{
    const char *path = qemu_plugin_path_to_binary();
    const char *slash = path ? strrchr(path, '/') : NULL;
    char name[16];
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path ? path : "unknown");
    record_name(vcpu, name);
    csp_maps_initial(record_map, vcpu);
}

static void on_block(unsigned index, void *user)
{
    static atomic_bool started;
    (void)index;
    struct csp_vcpu *vcpu = csp_vcpu_current();
    if (!vcpu)
        return;
    if (!started) {
        started = true;
        on_first_block(vcpu);
    }
    struct csp_block *block = user;
    if (vcpu->truth.fd >= 0)
        __atomic_fetch_add(&block->runs, 1, __ATOMIC_RELAXED);
    csp_vcpu_step(vcpu, block);
}

/* "Store pair", 64-bit, with x29 first: how functions make their frame record. */
static bool stores_frame_record(const struct qemu_plugin_insn *insn)
{
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(insn), sizeof word);
    return (word & 0xfe40001f) == 0xa800001d;
}

static void on_frame_record(unsigned index, qemu_plugin_meminfo_t info, uint64_t address,
                            void *user)
{
    (void)index, (void)info, (void)user;
    struct csp_vcpu *vcpu = csp_vcpu_current();
    if (vcpu)
        csp_vcpu_frame_pointer(vcpu, address);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    struct csp_block *block = csp_block_of(tb);
    block->covered = !csp_machine_covers(block->start);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, 0, block);
    /* Only when QEMU steps singly is x29 still the stored one afterwards. */
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, 0);
    if (csp_machine.settings.truth >= 0 && !csp_machine.settings.whole_blocks &&
        stores_frame_record(insn))
        qemu_plugin_register_vcpu_mem_cb(insn, on_frame_record, 0, QEMU_PLUGIN_MEM_W, NULL);
}

static void on_thread_end(qemu_plugin_id_t id, unsigned index)
{
    (void)id, (void)index;
    struct csp_vcpu *vcpu = csp_vcpu_current();
    if (vcpu)
        csp_vcpu_end(vcpu);
}

/* QEMU has stopped all threads; the calling one is in exit_group. */
static void on_process_end(qemu_plugin_id_t id, void *user)
{
    (void)id, (void)user;
    if (!csp_vcpu_current())
        return;
    csp_machine.recording = false;
    for (size_t i = 0; i < csp_machine.vcpus.len; i++)
        csp_vcpu_end(csp_machine.vcpus.data[i]);
    csp_machine_conclude();
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc,
                        char **argv)
{
    const char *problem = NULL, *missing = csp_guest_lookup();
    if (info->system_emulation || strcmp(info->target_name, "aarch64") != 0)
        problem = "it is for qemu-aarch64, user mode";
    else if (argc != 1 || strncmp(argv[0], "settings=", 9) != 0)
        problem = "it is run by `csprof collect --emulate`";
    else if (!missing)
        problem = csp_machine_start(atoi(argv[0] + 9));
    if (missing)
        fprintf(stderr, "csprof emulator plugin: this QEMU lacks %s (7.2 has it)\n", missing);
    if (problem)
        fprintf(stderr, "csprof emulator plugin: %s\n", problem);
    if (missing || problem)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
    qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_call_return);
    qemu_plugin_register_atexit_cb(id, on_process_end, NULL);
    return 0;
}
