/* The few functions of QEMU's plugin interface that the two plugins use, version 1 as in QEMU 6.0
 * to 8.2. Debian packages no header for it; QEMU documents it in docs/devel/tcg-plugins.rst. */
#ifndef CSP_EMULATE_QEMU_PLUGIN_API_H
#define CSP_EMULATE_QEMU_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSP_QEMU_EXPORT __attribute__((visibility("default")))

enum { CSP_QEMU_PLUGIN_VERSION = 1 };
enum { QEMU_PLUGIN_MEM_W = 2 };

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

struct qemu_plugin_info {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    union {
        struct {
            int smp_vcpus, max_vcpus;
        } system;
    };
};

CSP_QEMU_EXPORT extern int qemu_plugin_version;
CSP_QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info,
                                        int argc, char **argv);

typedef void qemu_plugin_vcpu_cb(qemu_plugin_id_t id, unsigned vcpu);
typedef void qemu_plugin_tb_trans_cb(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void qemu_plugin_exec_cb(unsigned vcpu, void *user);
typedef void qemu_plugin_exit_cb(qemu_plugin_id_t id, void *user);
typedef void qemu_plugin_mem_cb(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                                void *user);
typedef void qemu_plugin_syscall_cb(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1,
                                    uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                                    uint64_t a7, uint64_t a8);
typedef void qemu_plugin_syscall_ret_cb(qemu_plugin_id_t id, unsigned vcpu, int64_t number,
                                        int64_t result);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_trans_cb *callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_exec_cb *callback,
                                          int flags, void *user);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_mem_cb *callback,
                                      int flags, int access, void *user);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_cb *callback);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_syscall_cb *callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              qemu_plugin_syscall_ret_cb *callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_cb *callback, void *user);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
/* Where the instruction is in QEMU's own memory. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
const char *qemu_plugin_path_to_binary(void);
/* Of a memory access, under system emulation. */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr);

#endif
