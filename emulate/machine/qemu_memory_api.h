/* QEMU's plugin interface, version 1 (QEMU 6.0 to 8.2), as far as the system plugin needs it beyond
 * what emulate/user/qemu_plugin_api.h declares. */
#ifndef CSP_EMULATE_MACHINE_QEMU_MEMORY_API_H
#define CSP_EMULATE_MACHINE_QEMU_MEMORY_API_H

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

typedef void qemu_plugin_tb_trans_cb(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void qemu_plugin_exec_cb(unsigned vcpu, void *user);
typedef void qemu_plugin_exit_cb(qemu_plugin_id_t id, void *user);
typedef void qemu_plugin_mem_cb(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                                void *user);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_trans_cb *callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_exec_cb *callback,
                                          int flags, void *user);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_mem_cb *callback,
                                      int flags, int access, void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_cb *callback, void *user);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
/* Where the instruction is in QEMU's own memory. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr);

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc,
                        char **argv);

#endif
