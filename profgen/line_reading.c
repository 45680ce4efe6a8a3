#include "profgen/line_reading.h"

#include "base/alloc.h"
#include "profgen/llvm/debug_info.h"

#include <pthread.h>
#include <stdlib.h>

typedef CSP_VEC(uint64_t) address_list;

struct csp_line_reading {
    struct csp_program *program;
    uint8_t *known; /* by function: it was wanted before; the thread's own */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    address_list wanted;
    bool ending;
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

/* Takes what is wanted, once there is anything; false at the end. */
static bool take_wanted(struct csp_line_reading *reading, address_list *taken)
{
    csp_vec_free(taken);
    pthread_mutex_lock(&reading->lock);
    while (!reading->wanted.len && !reading->ending)
        pthread_cond_wait(&reading->changed, &reading->lock);
    taken->data = reading->wanted.data;
    taken->len = reading->wanted.len;
    taken->cap = reading->wanted.cap;
    reading->wanted.data = NULL;
    reading->wanted.len = reading->wanted.cap = 0;
    pthread_mutex_unlock(&reading->lock);
    return taken->len;
}

static void *run(void *user)
{
    struct csp_line_reading *reading = user;
    address_list taken = {0};
    while (take_wanted(reading, &taken))
        for (size_t i = 0; i < taken.len; i++)
            read_function_at(reading, taken.data[i]);
    csp_vec_free(&taken);
    return NULL;
}

struct csp_line_reading *csp_line_reading_begin(struct csp_program *program)
{
    struct csp_line_reading *reading = csp_calloc(1, sizeof *reading);
    reading->program = program;
    reading->known = csp_calloc(program->functions.functions.len + 1, 1);
    pthread_mutex_init(&reading->lock, NULL);
    pthread_cond_init(&reading->changed, NULL);
    reading->started = !pthread_create(&reading->thread, NULL, run, reading);
    return reading;
}

void csp_line_reading_want(struct csp_line_reading *reading, const struct csp_pairs *branches,
                           size_t first)
{
    if (!reading || !reading->started || first == branches->list.len)
        return;
    pthread_mutex_lock(&reading->lock);
    for (size_t i = first; i < branches->list.len; i++) {
        csp_vec_push(&reading->wanted, branches->list.data[i].first);
        csp_vec_push(&reading->wanted, branches->list.data[i].second);
    }
    pthread_cond_signal(&reading->changed);
    pthread_mutex_unlock(&reading->lock);
}

void csp_line_reading_end(struct csp_line_reading *reading)
{
    if (!reading)
        return;
    pthread_mutex_lock(&reading->lock);
    reading->ending = true;
    pthread_cond_signal(&reading->changed);
    pthread_mutex_unlock(&reading->lock);
    if (reading->started)
        pthread_join(reading->thread, NULL);
    csp_vec_free(&reading->wanted);
    pthread_cond_destroy(&reading->changed);
    pthread_mutex_destroy(&reading->lock);
    free(reading->known);
    free(reading);
}
