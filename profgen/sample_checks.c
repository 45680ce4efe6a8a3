#include "profgen/sample_checks.h"

#include "base/map.h"
#include "profgen/llvm/machine.h"
#include "profgen/sample_history.h"

#include <string.h>

const char *const csp_sample_rule_names[CSP_RULE_COUNT] = {
    "leaf", "stack", "fall-through", "branch", "return", "external", "prologue",
};

enum { ALL_RULES = (1 << CSP_RULE_COUNT) - 1 };
#define NO_TARGET UINT64_MAX

struct checker {
    const struct csp_program *program;
    struct csp_map targets; /* of direct branches; NO_TARGET where there are several */
    struct csp_history history;
    csp_frames open;
};

/* Adds the rules that a name stands for. */
static bool rules_named(const char *name, size_t length, unsigned *rules)
{
    if (length == 3 && !memcmp(name, "all", 3)) {
        *rules |= ALL_RULES;
        return true;
    }
    for (int rule = 0; rule < CSP_RULE_COUNT; rule++) {
        if (strlen(csp_sample_rule_names[rule]) == length &&
            !memcmp(csp_sample_rule_names[rule], name, length)) {
            *rules |= 1U << rule;
            return true;
        }
    }
    return length == 4 && !memcmp(name, "none", 4);
}

bool csp_sample_rules_parse(const char *text, unsigned *rules)
{
    *rules = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!rules_named(text, length, rules))
            return false;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

static uint64_t look_up_target(const struct csp_program *program, uint64_t branch)
{
    const struct csp_code_section *section = csp_code_section(&program->code, branch);
    struct csp_insn insn;
    bool direct = program->machine &&
                  csp_machine_decode(program->machine, section->bytes + (branch - section->start),
                                     section->end - branch, branch, &insn) &&
                  insn.has_target && !(insn.flags & CSP_INSN_INDIRECT);
    return direct ? insn.target : NO_TARGET;
}

/* Where the branch instruction at an address always leads when it is taken. */
static uint64_t target_of(struct checker *checker, uint64_t branch)
{
    uint64_t *known = csp_map_at(&checker->targets, branch);
    if (!*known)
        *known = look_up_target(checker->program, branch);
    return *known;
}

static unsigned check_branch(struct checker *checker, uint64_t from, uint64_t to)
{
    const struct csp_program *program = checker->program;
    if (from == CSP_EXTERNAL)
        return 0;
    uint8_t flags = csp_code_flags(&program->code, from);
    if (!(flags & (CSP_CODE_CALL | CSP_CODE_RETURN | CSP_CODE_BRANCH)))
        return 1 << CSP_RULE_BRANCH;
    if (flags & CSP_CODE_RETURN)
        return csp_program_call_before(program, to) ? 0 : 1 << CSP_RULE_RETURN;
    uint64_t target = target_of(checker, from);
    if (target == NO_TARGET || target == to)
        return 0;
    /* What is not our code is one address, wherever it is. */
    bool outside = to == CSP_EXTERNAL && !csp_code_is_instruction(&program->code, target);
    return outside ? 0 : 1 << CSP_RULE_BRANCH;
}

/* The straight run from where a branch went to where the next newer one left. */
static unsigned check_run(const struct csp_program *program, uint64_t from, uint64_t to)
{
    if (from == CSP_EXTERNAL || to == CSP_EXTERNAL)
        return from == to ? 0 : 1 << CSP_RULE_EXTERNAL;
    return csp_code_falls_through(&program->code, from, to, false) ? 0 : 1 << CSP_RULE_FALL_THROUGH;
}

static unsigned check_history(struct checker *checker, const struct csp_flat_sample *sample)
{
    const uint64_t *branches = sample->addresses + sample->frame_len;
    unsigned broken = 0;
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        broken |= check_branch(checker, branches[2 * i], branches[2 * i + 1]);
        if (i)
            broken |= check_run(checker->program, branches[2 * i + 1], branches[2 * i - 2]);
    }
    if (sample->branch_len && branches[1] == CSP_EXTERNAL)
        broken |= 1 << CSP_RULE_EXTERNAL;
    return broken;
}

/* The open calls must be in the call stack, in order. Only the innermost may be missing, because
 * its callee may not have a frame yet; but then it is none of the function that is there instead.
 */
static unsigned check_stack(struct checker *checker, const struct csp_flat_sample *sample)
{
    const struct csp_functions *functions = &checker->program->functions;
    const uint64_t *frames = sample->addresses;
    if (sample->frame_len < 2)
        return 0;
    csp_sample_history(checker->program, sample, &checker->history);
    csp_sample_open_calls(&checker->history, &checker->open);
    size_t next = 1;
    for (size_t i = 0; i < checker->open.len && next < sample->frame_len; i++) {
        uint64_t call = checker->open.data[i];
        size_t at = next;
        while (at < sample->frame_len && frames[at] != call)
            at++;
        if (at < sample->frame_len)
            next = at + 1;
        else if (i || csp_functions_at(functions, call) == csp_functions_at(functions, frames[1]))
            return 1 << CSP_RULE_STACK;
    }
    return 0;
}

static unsigned check_leaf(const struct csp_flat_sample *sample)
{
    unsigned broken = 0;
    if (sample->leaf & CSP_LEAF_ELSEWHERE)
        broken |= 1 << CSP_RULE_LEAF;
    if (sample->leaf & CSP_LEAF_OUTSIDE)
        broken |= 1 << CSP_RULE_EXTERNAL;
    if (sample->leaf & CSP_LEAF_EDGE)
        broken |= 1 << CSP_RULE_PROLOGUE;
    return broken;
}

void csp_sample_set_check(struct csp_sample_set *set, const struct csp_program *program,
                          unsigned rules, struct csp_sample_check_stats *stats)
{
    struct checker checker = {.program = program};
    for (size_t i = 0; i < set->counts.len; i++) {
        const struct csp_flat_sample *sample = csp_sample_set_at(set, i);
        unsigned broken =
            check_leaf(sample) | check_history(&checker, sample) | check_stack(&checker, sample);
        stats->checked += set->counts.data[i];
        for (int rule = 0; rule < CSP_RULE_COUNT; rule++)
            if (broken & 1U << rule)
                stats->broken[rule] += set->counts.data[i];
        if (!(broken & rules))
            continue;
        stats->rejected += set->counts.data[i];
        set->stats.used -= set->counts.data[i];
        set->counts.data[i] = 0;
    }
    csp_map_free(&checker.targets);
    csp_history_free(&checker.history);
    csp_vec_free(&checker.open);
}
