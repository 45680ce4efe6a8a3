#include "emulated_truth.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static struct true_window *last_window(struct emulated_truth *truth)
{
    return &truth->windows.data[truth->windows.len - 1];
}

static void read_window(struct emulated_truth *truth, char *line)
{
    struct true_window window = {.branch_first = truth->branches.len, .one_stretch = true};
    window.cpu = (uint32_t)strtoul(line + strlen("window "), &line, 10);
    window.tid = (uint32_t)strtoul(line, &line, 10);
    window.opened = strtoull(line, &line, 10);
    window.closed = strtoull(line, &line, 10);
    window.sampled = strtoull(line, &line, 10);
    csp_vec_push(&truth->windows, window);
}

/* Begins where the run before was interrupted, or else the history does. */
static void read_run(struct emulated_truth *truth, const char *line)
{
    struct true_window *window = last_window(truth);
    uint64_t start = strtoull(line + strlen("run "), NULL, 16);
    if (window->start && start == window->end)
        return;
    window->one_stretch = !window->start;
    window->start = start;
    window->branch_first = truth->branches.len;
}

static void read_branch(struct emulated_truth *truth, char *line)
{
    struct true_branch branch;
    branch.from = strtoull(line + strlen("b "), &line, 16);
    branch.to = strtoull(line, NULL, 16);
    csp_vec_push(&truth->branches, branch);
}

static void read_line(struct emulated_truth *truth, char *line)
{
    if (starts(line, "window "))
        read_window(truth, line);
    if (!truth->windows.len)
        return;
    struct true_window *window = last_window(truth);
    if (starts(line, "run "))
        read_run(truth, line);
    else if (starts(line, "b "))
        read_branch(truth, line);
    else if (starts(line, "end "))
        window->end = strtoull(line + strlen("end "), NULL, 16);
    window->branch_len = truth->branches.len - window->branch_first;
}

static int by_cpu_and_time(const void *a, const void *b)
{
    const struct true_window *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    return x->closed < y->closed ? -1 : x->closed > y->closed;
}

/* Calls `take` for each line, without its end. The last must be "done". */
static void read_lines(struct emulated_truth *truth, const char *path, const char *first,
                       void (*take)(struct emulated_truth *truth, char *line))
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool done = false;
    if (!file)
        fail(path, "cannot be read");
    for (ssize_t n, number = 0; (n = getline(&line, &room, file)) > 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        if (!number && strcmp(line, first) != 0)
            fail(path, "is not what was expected");
        take(truth, line);
        done = !strcmp(line, "done");
    }
    free(line);
    fclose(file);
    if (!done)
        fail(path, "is not complete");
}

void truth_read(struct emulated_truth *truth, const char *path)
{
    read_lines(truth, path, "csprof-truth 1", read_line);
    if (!truth->windows.len)
        fail(path, "has no windows");
    qsort(truth->windows.data, truth->windows.len, sizeof *truth->windows.data, by_cpu_and_time);
}

static uint64_t sample_key(uint32_t tid, uint64_t time)
{
    return (uint64_t)tid << 44 ^ time;
}

struct true_window *truth_of_sample(struct emulated_truth *truth, uint32_t tid, uint64_t time)
{
    const uint64_t *number = csp_map_find(&truth->by_sample, sample_key(tid, time));
    return number ? &truth->windows.data[*number] : NULL;
}

/* The window on `cpu` that was open at `time`. */
static struct true_window *open_at(struct emulated_truth *truth, uint32_t cpu, uint64_t time)
{
    size_t low = 0, high = truth->windows.len;
    struct true_window key = {.cpu = cpu, .closed = time};
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_cpu_and_time(&truth->windows.data[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct true_window *window = &truth->windows.data[low];
    bool found = low < truth->windows.len && window->cpu == cpu && window->opened <= time;
    return found ? window : NULL;
}

static void read_window_fate(struct emulated_truth *truth, const char *line)
{
    static const char *const names[FATES] = {"whole",    "lost",  "cut",
                                             "beheaded", "begun", "doubtful"};
    unsigned cpu;
    unsigned long long time;
    char name[16];
    if (sscanf(line, "window %u %llu %15s", &cpu, &time, name) != 3)
        fail("ledger", line);
    struct true_window *window = open_at(truth, cpu, time);
    if (!window)
        fail("ledger: no window of the truth", line);
    window->unproven |= !strcmp(name, "unproven");
    for (int i = FATE_LOST; i < FATES; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        window->no_beginning |= i == FATE_BEHEADED;
        window->no_end |= i == FATE_CUT || i == FATE_BEGUN;
        /* Without its beginning and its end nothing is left to name. */
        bool both = (window->no_beginning && window->no_end) ||
                    (window->fate != FATE_WHOLE && window->fate != (enum fate)i &&
                     window->fate != FATE_DOUBTFUL && i != FATE_DOUBTFUL);
        window->fate = both ? FATE_LOST : (enum fate)i;
    }
}

static void read_sample_fate(struct emulated_truth *truth, const char *line)
{
    unsigned cpu, tid;
    unsigned long long time;
    char name[16];
    if (sscanf(line, "sample %u %u %llu %15s", &cpu, &tid, &time, name) != 4)
        fail("ledger", line);
    struct true_window *window =
        truth_of_sample(truth, tid, csp_faults_clock(&truth->faults, time));
    if (!window)
        return;
    if (!strcmp(name, "skidded"))
        window->sample = SAMPLE_SKIDDED;
    else
        window->sample = !strcmp(name, "lost") ? SAMPLE_LOST : SAMPLE_THROTTLED;
}

static void read_fault(struct emulated_truth *truth, char *line)
{
    char *name = line + strlen("fault "), *value = strchr(name, ' ');
    if (!value)
        fail("ledger", line);
    *value = '=';
    if (csp_faults_parse(&truth->faults, name, NULL) != 0)
        fail("ledger", line);
}

/* Samples are found by the recording's clock, which the faults at the ledger's beginning tell. */
static void index_samples(struct emulated_truth *truth)
{
    for (size_t i = 0; i < truth->windows.len; i++) {
        const struct true_window *window = &truth->windows.data[i];
        uint64_t time = csp_faults_clock(&truth->faults, window->sampled);
        if (window->sampled)
            *csp_map_at(&truth->by_sample, sample_key(window->tid, time)) = i;
    }
}

static void read_ledger_line(struct emulated_truth *truth, char *line)
{
    if (starts(line, "fault ")) {
        read_fault(truth, line);
        return;
    }
    if (starts(line, "csprof-ledger"))
        return;
    if (!truth->by_sample.len)
        index_samples(truth);
    if (starts(line, "window "))
        read_window_fate(truth, line);
    else if (starts(line, "sample "))
        read_sample_fate(truth, line);
    else if (starts(line, "total pauses "))
        truth->pauses = strtoull(line + strlen("total pauses "), NULL, 10);
    else if (starts(line, "total lost "))
        truth->lost = strtoull(line + strlen("total lost "), NULL, 10);
    else if (starts(line, "total bytes "))
        truth->bytes = strtoull(line + strlen("total bytes "), NULL, 10);
    else if (starts(line, "total unannounced "))
        truth->unannounced = strtoull(line + strlen("total unannounced "), NULL, 10);
}

void truth_read_ledger(struct emulated_truth *truth, const char *path)
{
    read_lines(truth, path, "csprof-ledger 1", read_ledger_line);
}

void truth_free(struct emulated_truth *truth)
{
    csp_vec_free(&truth->windows);
    csp_vec_free(&truth->branches);
    csp_map_free(&truth->by_sample);
}
