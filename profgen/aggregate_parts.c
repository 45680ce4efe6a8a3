#include "profgen/aggregate_parts.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "profgen/runs.h"

#include <stdlib.h>
#include <string.h>

enum { WORTH_THREADS = 8 }; /* so many aggregates for each thread are worth starting it */

struct part {
    const struct csp_aggregate_parts *all;
    size_t first, end; /* inputs … */
    size_t read;       /* … of which so many are in the aggregate */
    bool failed;
    struct csp_aggregate aggregate;
};

static bool is_full(const struct part *part)
{
    size_t beside = csp_aggregate_beside(&part->aggregate);
    return csp_samples_memory(&part->aggregate.set) + beside >
           part->all->memory / part->all->threads;
}

static void read_part(void *user, unsigned number)
{
    struct part *part = (struct part *)user + number;
    const struct csp_aggregate_parts *all = part->all;
    for (size_t i = part->first; i < part->end && !part->failed && !is_full(part); i++) {
        const struct csp_aggregate_how how = {all->inputs[i].weight, all->duplicates};
        part->failed = csp_aggregate_read(&part->aggregate, all->inputs[i].path, &how, NULL) != 0;
        part->read++;
        if (!number && all->progress)
            all->progress(all->user, part->read * all->threads);
    }
}

static bool add_part(struct csp_aggregate *aggregate, struct part *part, bool *read)
{
    const struct csp_aggregate_how how = {.duplicates = part->all->duplicates};
    if (part->failed || !csp_aggregate_fits(aggregate, &part->aggregate, &how))
        return false;
    if (!part->read)
        return true;
    if (!aggregate->name) {
        csp_aggregate_free(aggregate);
        *aggregate = part->aggregate;
        part->aggregate = (struct csp_aggregate){0};
    } else {
        csp_aggregate_merge(aggregate, &part->aggregate, "", &how, NULL);
    }
    memset(read + part->first, true, part->read * sizeof *read);
    return true;
}

void csp_aggregate_read_parts(struct csp_aggregate *aggregate,
                              const struct csp_aggregate_parts *parts, bool *read)
{
    if (parts->threads < 2 || parts->count < WORTH_THREADS * parts->threads)
        return;
    struct part *each = csp_calloc(parts->threads, sizeof *each);
    for (unsigned i = 0; i < parts->threads; i++)
        each[i] = (struct part){.all = parts,
                                .first = parts->count * i / parts->threads,
                                .end = parts->count * (i + 1) / parts->threads,
                                .aggregate = csp_aggregate_empty()};
    csp_parallel(parts->threads, read_part, each);
    bool good = true;
    for (unsigned i = 0; i < parts->threads; i++) {
        good = good && add_part(aggregate, &each[i], read);
        csp_aggregate_free(&each[i].aggregate);
    }
    free(each);
}

int csp_aggregate_read_all(struct csp_aggregate *aggregate, const struct csp_aggregate_parts *parts,
                           struct csp_diag *diag)
{
    bool *read = csp_calloc(parts->count, sizeof *read);
    int error = 0;
    csp_aggregate_read_parts(aggregate, parts, read);
    for (size_t i = 0; i < parts->count && !error; i++) {
        const struct csp_aggregate_how how = {parts->inputs[i].weight, parts->duplicates};
        if (!read[i])
            error = csp_aggregate_read(aggregate, parts->inputs[i].path, &how, diag);
    }
    free(read);
    return error;
}
