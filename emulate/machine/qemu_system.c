#include "emulate/machine/qemu_system.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* GLib's byte array, of which QEMU's debugger stub takes one. */
struct byte_array {
    uint8_t *data;
    unsigned len;
};

enum { QEMU_CLOCK_VIRTUAL = 1 };

/* Set once, before the machine starts, and never changed. */
static struct {
    void *(*get_cpu)(int index);
    int (*read_register)(void *cpu, struct byte_array *out, int number);
    int64_t (*clock_ns)(int clock);
    void (*icount_update)(void *cpu);
    struct byte_array *(*array_new)(void);
    struct byte_array *(*array_set_size)(struct byte_array *array, unsigned length);
    struct byte_array *value;
} qemu;

static void *find(const char *name, const char **missing)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol && !*missing)
        *missing = name;
    return symbol;
}

const char *csp_qemu_lookup(void)
{
    const char *missing = NULL;
    *(void **)&qemu.get_cpu = find("qemu_get_cpu", &missing);
    *(void **)&qemu.read_register = find("aarch64_cpu_gdb_read_register", &missing);
    *(void **)&qemu.clock_ns = find("qemu_clock_get_ns", &missing);
    *(void **)&qemu.icount_update = find("icount_update", &missing);
    *(void **)&qemu.array_new = find("g_byte_array_new", &missing);
    *(void **)&qemu.array_set_size = find("g_byte_array_set_size", &missing);
    find("current_cpu", &missing);
    if (!missing)
        qemu.value = qemu.array_new();
    return missing;
}

uint64_t csp_qemu_register(unsigned cpu, unsigned number)
{
    uint64_t value;
    qemu.array_set_size(qemu.value, 0);
    qemu.read_register(qemu.get_cpu((int)cpu), qemu.value, (int)number);
    memcpy(&value, qemu.value->data, sizeof value);
    return value;
}

unsigned csp_qemu_exception_level(unsigned cpu)
{
    enum { PSTATE = 33 };
    uint32_t value;
    qemu.array_set_size(qemu.value, 0);
    qemu.read_register(qemu.get_cpu((int)cpu), qemu.value, PSTATE);
    memcpy(&value, qemu.value->data, sizeof value);
    return value >> 2 & 3;
}

/* The clock refuses to be read in the middle of a block: its value is only known at instructions
 * that do input or output. To account for what has run and then to ask as if from outside is exact
 * enough: a block's instructions count when it begins. */
uint64_t csp_qemu_clock(unsigned cpu)
{
    static __thread void **current; /* the calling thread's own */
    if (!current)
        current = dlsym(RTLD_DEFAULT, "current_cpu");
    qemu.icount_update(qemu.get_cpu((int)cpu));
    void *saved = *current;
    *current = NULL;
    uint64_t now = (uint64_t)qemu.clock_ns(QEMU_CLOCK_VIRTUAL);
    *current = saved;
    return now;
}
