/* What a sample's call stack and branch history say of each other and of the code: rules that it
 * may break. Samples that break a rule which was chosen are rejected; all others are counted too,
 * so that one can tell what choosing them would do. */
#ifndef CSP_PROFGEN_SAMPLE_CHECKS_H
#define CSP_PROFGEN_SAMPLE_CHECKS_H

#include "profgen/sample_set.h"

enum csp_sample_rule {
    CSP_RULE_LEAF,  /* the sample's address and its newest branch are in different functions */
    CSP_RULE_STACK, /* a call of the history is open and the call stack has another one */
    CSP_RULE_FALL_THROUGH, /* between two branches it ran backwards or over a taken branch */
    CSP_RULE_BRANCH,   /* a branch begins at no branch instruction, or went where that does not */
    CSP_RULE_RETURN,   /* a return went to an address that no call precedes */
    CSP_RULE_EXTERNAL, /* an end of its history, or of a run in it, is outside of the binary */
    CSP_RULE_PROLOGUE, /* taken in a prologue or epilogue, where call stacks lack a frame */
    CSP_RULE_COUNT
};

/* As the command line has them. */
extern const char *const csp_sample_rule_names[CSP_RULE_COUNT];

/* A set of rules from their names, separated by commas; "all", "none". False: an unknown name. */
bool csp_sample_rules_parse(const char *text, unsigned *rules);

struct csp_sample_check_stats {
    uint64_t checked, rejected;
    uint64_t broken[CSP_RULE_COUNT]; /* samples; one may break several */
};

/* Checks all samples of a set and sets the counts of those that break one of `rules` (1 << rule) to
 * zero. `threads`: 0 is one. */
void csp_sample_set_check(struct csp_sample_set *set, const struct csp_program *program,
                          unsigned rules, unsigned threads, struct csp_sample_check_stats *stats);

/* The same of samples that come in batches, all in one set. */
struct csp_sample_checker;

struct csp_sample_checker *csp_sample_checker_begin(struct csp_sample_set *set,
                                                    const struct csp_program *program,
                                                    unsigned rules);
/* Looks at the branches that are new in the set: before their samples are checked, and not by two
 * threads for one program. */
void csp_sample_checker_learn(struct csp_sample_checker *checker);
/* Before the samples are checked that the set has now. */
void csp_sample_checker_enter(struct csp_sample_checker *checker);
/* Checks one of them. Returns whether it counts: it breaks none of the rules. */
bool csp_sample_checker_sample(struct csp_sample_checker *checker, size_t number);
/* The same of a sample whose runs all can have been, and whose call stack has all its calls.
 * `broken` are the rules that its branches break. */
bool csp_sample_checker_plain(struct csp_sample_checker *checker, size_t number, unsigned broken);
/* The rules that a branch of the set breaks by itself: bits. */
unsigned csp_sample_checker_branch(const struct csp_sample_checker *checker, uint32_t branch);
/* Adds the statistics, and frees. */
void csp_sample_checker_end(struct csp_sample_checker *checker,
                            struct csp_sample_check_stats *stats);

#endif
