#include "profgen/line_reading.h"

#include "base/alloc.h"
#include "base/inbox.h"
#include "profgen/llvm/debug_info.h"

#include <pthread.h>
#include <stdlib.h>

struct csp_line_reading {
    struct csp_program *program;
    uint8_t *known; /* by function: it was wanted before; the thread's own */
    pthread_t thread;
    bool started;
    struct csp_inbox wanted; /* struct csp_pair: branches, both of whose ends are */
};

static void read_function_at(struct csp_line_reading *reading, uint64_t address)
{
    const struct csp_functions *functions = &reading->program->functions;
    uint32_t number = csp_functions_at(functions, address);
    if (number == CSP_NO_FUNCTION || reading->known[number])
        return;
    const struct csp_function *function = &functions->functions.data[number];
    reading->known[number] = 1;
    for (uint32_t i = 0; i < function->parts; i++) {
        const struct csp_function_range *part = &functions->parts.data[function->first_part + i];
        csp_debug_info_read_ahead(reading->program->debug, part->start, part->end);
    }
}

static void *run(void *user)
{
    struct csp_line_reading *reading = user;
    struct csp_buf taken = {0};
    for (; csp_inbox_take(&reading->wanted, &taken); taken.len = 0) {
        const struct csp_pair *branches = (const struct csp_pair *)(void *)taken.data;
        for (size_t i = 0; i < taken.len / sizeof *branches; i++) {
            read_function_at(reading, branches[i].first);
            read_function_at(reading, branches[i].second);
        }
    }
    csp_buf_free(&taken);
    return NULL;
}

struct csp_line_reading *csp_line_reading_begin(struct csp_program *program)
{
    struct csp_line_reading *reading = csp_calloc(1, sizeof *reading);
    reading->program = program;
    reading->known = csp_calloc(program->functions.functions.len + 1, 1);
    csp_inbox_init(&reading->wanted);
    reading->started = !pthread_create(&reading->thread, NULL, run, reading);
    return reading;
}

void csp_line_reading_want(struct csp_line_reading *reading, const struct csp_pairs *branches,
                           size_t first)
{
    if (!reading || !reading->started || first == branches->list.len)
        return;
    csp_inbox_give(&reading->wanted, branches->list.data + first,
                   (branches->list.len - first) * sizeof *branches->list.data);
}

void csp_line_reading_end(struct csp_line_reading *reading)
{
    if (!reading)
        return;
    csp_inbox_close(&reading->wanted);
    if (reading->started)
        pthread_join(reading->thread, NULL);
    csp_inbox_free(&reading->wanted);
    free(reading->known);
    free(reading);
}
