#include "emulate/user/guest.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

/* GLib's byte array, of which QEMU's debugger stub takes one. */
struct byte_array {
    uint8_t *data;
    unsigned len;
};

/* Set once, before the program runs, and never changed. */
static struct {
    int (*read_register)(void *cpu, struct byte_array *out, int number);
    struct byte_array *(*array_new)(void);
    struct byte_array *(*array_set_size)(struct byte_array *array, unsigned length);
    const uintptr_t *base;
} qemu;

/* The emulator's idea of the current processor, and a place for register values; per thread. */
static __thread void **current_cpu;
static __thread struct byte_array *value;

static void *find(const char *name, const char **missing)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol && !*missing)
        *missing = name;
    return symbol;
}

const char *csp_guest_lookup(void)
{
    const char *missing = NULL;
    *(void **)&qemu.read_register = find("aarch64_cpu_gdb_read_register", &missing);
    *(void **)&qemu.array_new = find("g_byte_array_new", &missing);
    *(void **)&qemu.array_set_size = find("g_byte_array_set_size", &missing);
    qemu.base = find("guest_base", &missing);
    find("thread_cpu", &missing);
    return missing;
}

uint64_t csp_guest_register(unsigned number)
{
    if (!current_cpu) {
        current_cpu = dlsym(RTLD_DEFAULT, "thread_cpu"); /* the calling thread's own */
        value = qemu.array_new();
    }
    qemu.array_set_size(value, 0);
    qemu.read_register(*current_cpu, value, (int)number);
    return *(const uint64_t *)(const void *)value->data;
}

uint64_t csp_guest_base(void)
{
    return *qemu.base;
}

bool csp_guest_read(uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size};
    struct iovec remote = {(void *)(uintptr_t)(address + *qemu.base), size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}
