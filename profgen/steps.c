#include "profgen/steps.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static struct csp_unwind_step describe_step(const struct csp_steps *steps, uint32_t stack,
                                            uint32_t run)
{
    const struct csp_pair *branches = steps->set->branches.list.data;
    uint32_t newer = (uint32_t)steps->runs.list.data[run].first;
    uint32_t branch = (uint32_t)steps->runs.list.data[run].second;
    return (struct csp_unwind_step){
        .stack = stack,
        .run = run,
        .newer_from = newer == CSP_NO_BRANCH ? 0 : branches[newer].first,
        .from = branches[branch].first,
        .to = branches[branch].second,
    };
}

static uint8_t check_step(struct csp_steps *steps, const struct csp_unwind_step *step,
                          uint32_t newer, uint32_t branch)
{
    if (!steps->checker)
        return 0;
    bool odd = csp_unwinder_is_odd(steps->unwinder, step, newer == CSP_NO_BRANCH);
    return (uint8_t)(csp_sample_checker_branch(steps->checker, branch) | (odd ? CSP_STEP_ODD : 0));
}

static void add_step(struct csp_steps *steps, struct csp_step_effect effect)
{
    uint32_t guess = effect.broken ? CSP_NO_GUESS : effect.branch;
    csp_vec_push(&steps->list, (struct csp_step){.branch = guess, .followed = CSP_NO_STEP});
    csp_vec_push(&steps->effects, effect);
}

uint32_t csp_step_at(struct csp_steps *steps, uint32_t stack, uint32_t newer, uint32_t branch)
{
    uint32_t run = csp_pairs_at(&steps->runs, newer, branch);
    uint32_t number = 1 + csp_numbers_at(&steps->keys, (uint64_t)stack << 32 | run);
    if (number == steps->list.len) {
        const struct csp_unwind_step step = describe_step(steps, stack, run);
        add_step(steps,
                 (struct csp_step_effect){.before = csp_unwinder_undo(steps->unwinder, &step),
                                          .branch = branch,
                                          .broken = check_step(steps, &step, newer, branch)});
    }
    return number * (uint32_t)sizeof(struct csp_step);
}

uint32_t csp_step_after(struct csp_steps *steps, uint32_t at, uint32_t branch)
{
    struct csp_met_step *met = csp_step_place(steps, at, branch);
    if (met->after != at || met->branch != branch) {
        const struct csp_step_effect *effect = csp_step_effect_of(steps, at);
        *met = (struct csp_met_step){at, branch,
                                     csp_step_at(steps, effect->before, effect->branch, branch)};
    }
    csp_step_named(steps, at)->followed = met->step;
    return met->step;
}

static void begin(struct csp_steps *steps)
{
    csp_numbers_clear(&steps->keys);
    steps->list.len = steps->effects.len = 0;
    csp_vec_push(&steps->list, (struct csp_step){.branch = CSP_NO_GUESS});
    csp_vec_push(&steps->effects, (struct csp_step_effect){0});
}

void csp_steps_count(struct csp_steps *steps)
{
    enum { AHEAD = 12 };
    for (size_t i = 1; i < steps->list.len; i++) {
        if (!steps->list.data[i].count)
            continue;
        uint64_t key = steps->keys.list.data[i - 1];
        if (i + AHEAD < steps->list.len)
            csp_unwinder_fetch(steps->unwinder,
                               (uint32_t)(steps->keys.list.data[i - 1 + AHEAD] >> 32),
                               steps->effects.data[i + AHEAD].before);
        const struct csp_unwind_step step =
            describe_step(steps, (uint32_t)(key >> 32), (uint32_t)key);
        csp_unwinder_count(steps->unwinder, &step, steps->effects.data[i].before,
                           steps->list.data[i].count);
    }
    begin(steps);
    memset(steps->met, 0, sizeof *steps->met << CSP_MET_BITS);
}

void csp_steps_begin(struct csp_steps *steps, struct csp_unwinder *unwinder,
                     const struct csp_sample_set *set)
{
    *steps = (struct csp_steps){.unwinder = unwinder, .set = set};
    steps->met = csp_calloc((size_t)1 << CSP_MET_BITS, sizeof *steps->met);
    begin(steps);
}

void csp_steps_free(struct csp_steps *steps)
{
    csp_pairs_free(&steps->runs);
    csp_numbers_free(&steps->keys);
    csp_vec_free(&steps->list);
    csp_vec_free(&steps->effects);
    free(steps->met);
}
