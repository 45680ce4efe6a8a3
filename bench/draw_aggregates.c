/* Aggregates as many hosts would send them: draw_aggregates COUNT SAMPLES FOLDER AGGREGATE...
 *
 * Pools the samples of real aggregates of one binary and writes COUNT files FOLDER/N of so many
 * samples each, drawn from the pool: half of them from its first hundredth, as hot code is met
 * again and again, the others from all of it. */
#include "base/alloc.h"
#include "profgen/aggregate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    (void)severity;
    fprintf(stderr, "draw_aggregates: %s\n", message);
}

static void stop(int error)
{
    if (error)
        exit(1);
}

static struct csp_aggregate draw(const struct csp_aggregate *pool, size_t samples, uint64_t number)
{
    struct csp_aggregate one = csp_aggregate_empty();
    struct csp_sample_set *set = &one.set;
    struct csp_digest digest = {{0}};
    memcpy(digest.bytes, &number, sizeof number);
    one.build_id = pool->build_id;
    one.code = pool->code;
    one.name = csp_strdup(pool->name);
    one.callchains = pool->callchains;
    csp_vec_push(&one.inputs, digest);
    set->stats.samples = set->stats.used = samples;
    for (size_t i = 0; i < samples; i++) {
        size_t all = pool->set.counts.len, hot = all / 100 + 1;
        size_t from = (size_t)random() % (i & 1 ? all : hot);
        const struct csp_flat_sample *sample = csp_sample_set_at(&pool->set, from);
        const struct csp_intern_entry *callers = &pool->set.callers.entries.data[sample->callers];
        set->numbers.len = 0;
        for (uint32_t b = 0; b < sample->branch_len; b++) {
            const struct csp_pair *branch = csp_flat_branch(&pool->set, sample, b);
            csp_vec_push(&set->numbers,
                         csp_pairs_at(&set->branches, branch->first, branch->second));
        }
        struct csp_flat_sample *copy =
            csp_sample_set_scratch(set, set->numbers.data, sample->branch_len);
        copy->callers = csp_intern(&set->callers, callers->data, callers->size);
        copy->start = sample->start;
        copy->end = sample->end;
        copy->leaf = sample->leaf;
        csp_sample_set_count(set, copy, 1);
    }
    return one;
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = tell};
    struct csp_aggregate pool = csp_aggregate_empty();
    if (argc < 5)
        return fprintf(stderr, "usage: draw_aggregates COUNT SAMPLES FOLDER AGGREGATE...\n"), 2;
    for (int i = 4; i < argc; i++)
        stop(csp_aggregate_read(&pool, argv[i], NULL, &diag));
    fprintf(stderr, "pool: %zu distinct samples\n", pool.set.counts.len);
    for (uint64_t i = 0; i < strtoull(argv[1], NULL, 0); i++) {
        struct csp_aggregate one = draw(&pool, strtoul(argv[2], NULL, 0), i);
        struct csp_output output;
        char *path = csp_asprintf("%s/%llu", argv[3], (unsigned long long)i);
        stop(csp_output_open(&output, path, &diag));
        csp_aggregate_write(&one, output.stream, NULL);
        stop(csp_output_commit(&output, &diag));
        csp_aggregate_free(&one);
        free(path);
    }
    csp_aggregate_free(&pool);
    return 0;
}
