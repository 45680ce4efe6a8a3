#include "emulate/user/shared_state.h"

#include "emulate/user/vcpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct csp_machine csp_machine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void)
{
    pthread_mutex_lock(&csp_machine.lock);
}

static void after_fork_in_parent(void)
{
    csp_machine.totals.forks++;
    pthread_mutex_unlock(&csp_machine.lock);
}

static void after_fork_in_child(void)
{
    csp_machine.recording = false;
    pthread_mutex_unlock(&csp_machine.lock);
}

static bool read_cover_list(int fd)
{
    FILE *file = fdopen(fd, "r");
    unsigned long long address;
    int got = 0;
    while (file && (got = fscanf(file, "%llx", &address)) == 1)
        *csp_map_at(&csp_machine.cover_at, address) = 1;
    bool whole = file && got == EOF && !ferror(file);
    if (file)
        fclose(file);
    return whole;
}

bool csp_machine_covers(uint64_t address)
{
    const struct csp_machine *machine = &csp_machine;
    if (!machine->settings.cover)
        return false;
    return machine->settings.cover_at < 0 || csp_map_find(&machine->cover_at, address) != NULL;
}

const char *csp_machine_start(int fd)
{
    struct csp_machine *machine = &csp_machine;
    ssize_t got = pread(fd, &machine->settings, sizeof machine->settings, 0);
    close(fd);
    if (got != sizeof machine->settings || machine->settings.size != sizeof machine->settings)
        return "its settings are not those of this build of csprof";
    if (machine->settings.cover_at >= 0 && !read_cover_list(machine->settings.cover_at))
        return "--cover-at: not a list of hexadecimal addresses";
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
        return "pthread_atfork failed";
    machine->recording = true;
    return NULL;
}

void csp_machine_record(struct csp_journal_record *record, const void *tail, size_t tail_size)
{
    if (csp_journal_append(csp_machine.settings.journal, record, tail, tail_size))
        return;
    int error = errno;
    pthread_mutex_lock(&csp_machine.lock);
    if (!csp_machine.failed)
        fprintf(stderr, "csprof collect: warning: cannot write the recording: %s\n",
                strerror(error));
    csp_machine.failed = true;
    pthread_mutex_unlock(&csp_machine.lock);
}

unsigned csp_machine_take_cpu(void)
{
    unsigned cpu = 0;
    pthread_mutex_lock(&csp_machine.lock);
    while (cpu < CSP_EMULATE_CPUS && csp_machine.cpu_used[cpu])
        cpu++;
    if (cpu < CSP_EMULATE_CPUS)
        csp_machine.cpu_used[cpu] = true;
    else
        csp_machine.totals.untraced_threads++;
    pthread_mutex_unlock(&csp_machine.lock);
    return cpu;
}

void csp_machine_release_cpu(unsigned cpu)
{
    pthread_mutex_lock(&csp_machine.lock);
    if (cpu < CSP_EMULATE_CPUS)
        csp_machine.cpu_used[cpu] = false;
    pthread_mutex_unlock(&csp_machine.lock);
}

void csp_machine_add_handler(uint64_t address)
{
    pthread_mutex_lock(&csp_machine.lock);
    *csp_map_at(&csp_machine.signal_handlers, address) = 1;
    csp_machine.handles_signals = true;
    pthread_mutex_unlock(&csp_machine.lock);
}

bool csp_machine_is_handler(uint64_t address)
{
    if (!csp_machine.handles_signals)
        return false;
    pthread_mutex_lock(&csp_machine.lock);
    bool found = csp_map_find(&csp_machine.signal_handlers, address) != NULL;
    pthread_mutex_unlock(&csp_machine.lock);
    return found;
}

void csp_machine_conclude(void)
{
    CSP_VEC(struct csp_truth *) truths = {0};
    pthread_mutex_lock(&csp_machine.lock);
    struct csp_journal_totals totals = csp_machine.totals;
    for (size_t i = 0; i < csp_machine.vcpus.len; i++) {
        csp_vcpu_add_totals(csp_machine.vcpus.data[i], &totals);
        csp_vec_push(&truths, &csp_machine.vcpus.data[i]->truth);
    }
    if (csp_machine.settings.truth >= 0)
        csp_truth_counts(csp_machine.settings.truth, truths.data, truths.len, totals.instructions);
    pthread_mutex_unlock(&csp_machine.lock);
    struct csp_journal_record record = {.type = CSP_JOURNAL_TOTALS};
    csp_machine_record(&record, &totals, sizeof totals);
    csp_vec_free(&truths);
}
