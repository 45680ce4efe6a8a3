#include "profgen/sample_checks.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/parallel.h"
#include "profgen/llvm/machine.h"
#include "profgen/sample_history.h"

#include <string.h>

const char *const csp_sample_rule_names[CSP_RULE_COUNT] = {
    "leaf", "stack", "fall-through", "branch", "return", "external", "prologue",
};

enum { ALL_RULES = (1 << CSP_RULE_COUNT) - 1 };
#define NO_TARGET UINT64_MAX

struct csp_sample_checker {
    const struct csp_program *program;
    struct csp_sample_set *set;
    size_t first, end;         /* samples of the set */
    CSP_VEC(uint8_t) branches; /* rules broken, by number of the set's branches */
    struct csp_map targets;    /* of branch instructions */
    struct csp_history_reader history;
    csp_frames open;
    unsigned rules;
    struct csp_sample_check_stats stats;
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
    struct csp_insn insn;
    bool direct = program->machine &&
                  csp_code_decode(&program->code, program->machine, branch, &insn) &&
                  insn.has_target && !(insn.flags & CSP_INSN_INDIRECT);
    return direct ? insn.target : NO_TARGET;
}

/* Where the branch instruction at an address always leads when it is taken. */
static uint64_t target_of(const struct csp_program *program, struct csp_map *targets,
                          uint64_t branch)
{
    uint64_t *known = csp_map_at(targets, branch);
    if (!*known)
        *known = look_up_target(program, branch);
    return *known;
}

static unsigned check_branch(const struct csp_program *program, struct csp_map *targets,
                             uint64_t from, uint64_t to)
{
    if (from == CSP_EXTERNAL)
        return 0;
    uint8_t flags = csp_code_flags(&program->code, from);
    if (!(flags & (CSP_CODE_CALL | CSP_CODE_RETURN | CSP_CODE_BRANCH)))
        return 1 << CSP_RULE_BRANCH;
    if (flags & CSP_CODE_RETURN)
        return csp_program_call_before(program, to) ? 0 : 1 << CSP_RULE_RETURN;
    uint64_t target = target_of(program, targets, from);
    if (target == NO_TARGET || target == to)
        return 0;
    /* What is not our code is one address, wherever it is. */
    bool outside = to == CSP_EXTERNAL && !csp_code_is_instruction(&program->code, target);
    return outside ? 0 : 1 << CSP_RULE_BRANCH;
}

void csp_sample_checker_learn(struct csp_sample_checker *checker)
{
    const struct csp_sample_set *set = checker->set;
    for (size_t i = checker->branches.len; i < set->branches.list.len; i++) {
        const struct csp_pair *branch = &set->branches.list.data[i];
        csp_vec_push(&checker->branches, (uint8_t)check_branch(checker->program, &checker->targets,
                                                               branch->first, branch->second));
    }
}

static unsigned rules_of_runs(unsigned verdicts)
{
    unsigned broken = verdicts & CSP_RUN_HALF_OUTSIDE ? 1 << CSP_RULE_EXTERNAL : 0;
    return broken | (verdicts & CSP_RUN_IMPOSSIBLE ? 1 << CSP_RULE_FALL_THROUGH : 0);
}

static unsigned rules_of_branches(const struct csp_sample_checker *checker,
                                  const struct csp_flat_sample *sample)
{
    unsigned broken = 0;
    for (uint32_t i = 0; i < sample->branch_len; i++)
        broken |= checker->branches.data[csp_flat_number(sample, i)];
    return broken;
}

static bool begins_with(const uint64_t *callers, uint32_t len, const csp_frames *calls)
{
    size_t same = 0;
    while (same < len && same < calls->len && callers[same] == calls->data[same])
        same++;
    return same == calls->len;
}

/* The open calls must be in the call stack, in order. Only the innermost may be missing, because
 * its callee may not have a frame yet; but then it is none of the function that is there instead.
 */
static unsigned check_stack(struct csp_sample_checker *checker, size_t number)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(checker->set, number);
    const struct csp_functions *functions = &checker->program->functions;
    uint32_t len, next = 0;
    const uint64_t *callers = csp_flat_callers(checker->set, sample, &len);
    if (!len)
        return 0;
    csp_sample_open_calls(&checker->history, checker->set, &checker->open);
    if (begins_with(callers, len, &checker->open)) {
        checker->set->complete.data[number] = true;
        return 0;
    }
    for (size_t i = 0; i < checker->open.len && next < len; i++) {
        uint64_t call = checker->open.data[i];
        uint32_t at = next;
        while (at < len && callers[at] != call)
            at++;
        if (at < len)
            next = at + 1;
        else if (i || csp_functions_at(functions, call) == csp_functions_at(functions, callers[0]))
            return 1 << CSP_RULE_STACK;
    }
    return 0;
}

/* Where it was taken, and where its newest branch went. */
static unsigned check_end(const struct csp_sample_checker *checker,
                          const struct csp_flat_sample *sample)
{
    unsigned broken = 0;
    if (sample->branch_len && csp_flat_newest(checker->set, sample) == CSP_EXTERNAL)
        broken |= 1 << CSP_RULE_EXTERNAL;
    if (sample->leaf & CSP_LEAF_ELSEWHERE)
        broken |= 1 << CSP_RULE_LEAF;
    if (sample->leaf & CSP_LEAF_OUTSIDE)
        broken |= 1 << CSP_RULE_EXTERNAL;
    if (sample->leaf & CSP_LEAF_EDGE)
        broken |= 1 << CSP_RULE_PROLOGUE;
    return broken;
}

/* Counts the rules that a sample breaks. Returns whether none of them was chosen. */
static bool judge(struct csp_sample_checker *checker, size_t number, unsigned broken)
{
    struct csp_sample_check_stats *stats = &checker->stats;
    uint64_t *count = &checker->set->counts.data[number];
    stats->checked += *count;
    for (int rule = 0; broken >> rule; rule++)
        if (broken & 1U << rule)
            stats->broken[rule] += *count;
    if (!(broken & checker->rules))
        return true;
    stats->rejected += *count;
    *count = 0;
    return false;
}

static bool check_sample(struct csp_sample_checker *checker, size_t number)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(checker->set, number);
    checker->set->complete.data[number] = false;
    unsigned broken =
        rules_of_runs(csp_sample_history_read(&checker->history, checker->set, number));
    broken |= check_end(checker, sample) | rules_of_branches(checker, sample);
    return judge(checker, number, broken | check_stack(checker, number));
}

static void run(void *user, unsigned number)
{
    struct csp_sample_checker *checker = (struct csp_sample_checker *)user + number;
    for (size_t i = checker->first; i < checker->end; i++)
        check_sample(checker, i);
}

static void add_stats(struct csp_sample_check_stats *stats,
                      const struct csp_sample_check_stats *other)
{
    stats->checked += other->checked;
    stats->rejected += other->rejected;
    for (int rule = 0; rule < CSP_RULE_COUNT; rule++)
        stats->broken[rule] += other->broken[rule];
}

static void begin(struct csp_sample_checker *checker, struct csp_sample_set *set,
                  const struct csp_program *program, unsigned rules)
{
    *checker = (struct csp_sample_checker){.program = program, .set = set, .rules = rules};
    csp_history_reader_begin(&checker->history, program);
}

static void end(struct csp_sample_checker *checker, struct csp_sample_check_stats *stats)
{
    add_stats(stats, &checker->stats);
    csp_history_reader_free(&checker->history);
    csp_vec_free(&checker->open);
}

static void free_branches(struct csp_sample_checker *checker)
{
    csp_vec_free(&checker->branches);
    csp_map_free(&checker->targets);
}

/* Makes room for what is told of each sample. */
static void make_room(struct csp_sample_set *set)
{
    set->complete.len = 0;
    csp_vec_reserve(&set->complete, set->counts.len);
    set->complete.len = set->counts.len;
}

void csp_sample_set_check(struct csp_sample_set *set, const struct csp_program *program,
                          unsigned rules, unsigned threads, struct csp_sample_check_stats *stats)
{
    unsigned count = csp_parallel_worth(threads, set->counts.len, CSP_SAMPLES_WORTH_A_THREAD);
    struct csp_sample_checker *checkers = csp_calloc(count, sizeof *checkers);
    make_room(set);
    for (unsigned i = 0; i < count; i++) {
        begin(&checkers[i], set, program, rules);
        if (i)
            checkers[i].branches = checkers[0].branches;
        else
            csp_sample_checker_learn(&checkers[0]);
        checkers[i].first = set->counts.len * i / count;
        checkers[i].end = set->counts.len * (i + 1) / count;
    }
    csp_parallel(count, run, checkers);
    for (unsigned i = 0; i < count; i++) {
        set->stats.used -= checkers[i].stats.rejected;
        end(&checkers[i], stats);
    }
    free_branches(&checkers[0]);
    free(checkers);
}

struct csp_sample_checker *csp_sample_checker_begin(struct csp_sample_set *set,
                                                    const struct csp_program *program,
                                                    unsigned rules)
{
    struct csp_sample_checker *checker = csp_malloc(sizeof *checker);
    begin(checker, set, program, rules);
    return checker;
}

void csp_sample_checker_enter(struct csp_sample_checker *checker)
{
    make_room(checker->set);
}

static bool note_rejected(struct csp_sample_checker *checker, uint64_t count, bool counts)
{
    if (!counts)
        checker->set->stats.used -= count;
    return counts;
}

bool csp_sample_checker_sample(struct csp_sample_checker *checker, size_t number)
{
    uint64_t count = checker->set->counts.data[number];
    return note_rejected(checker, count, check_sample(checker, number));
}

bool csp_sample_checker_plain(struct csp_sample_checker *checker, size_t number, unsigned broken)
{
    uint64_t count = checker->set->counts.data[number];
    broken |= check_end(checker, csp_sample_set_at(checker->set, number));
    return note_rejected(checker, count, judge(checker, number, broken));
}

unsigned csp_sample_checker_branch(const struct csp_sample_checker *checker, uint32_t branch)
{
    return checker->branches.data[branch];
}

void csp_sample_checker_end(struct csp_sample_checker *checker,
                            struct csp_sample_check_stats *stats)
{
    end(checker, stats);
    free_branches(checker);
    free(checker);
}
