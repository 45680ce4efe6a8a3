/* A sample of the set (profgen/sample_set.h) as decode's history and callchain, so that both know
 * one way to tell which calls are open.
 *
 * There frames are return addresses and here they are addresses of calls, whatever their length: a
 * call is handed over as its address, what it returns to as that address and CSP_CALL_SIZE.
 */
#ifndef CSP_PROFGEN_SAMPLE_HISTORY_H
#define CSP_PROFGEN_SAMPLE_HISTORY_H

#include "decode/callchain.h"
#include "profgen/sample_set.h"

enum { CSP_CALL_SIZE = 4 };

/* Whether execution got from where one branch went to where the next newer one left. */
enum csp_run_verdict {
    CSP_RUN_POSSIBLE, /* or nobody can tell: all of it was outside of the binary */
    CSP_RUN_HALF_OUTSIDE,
    CSP_RUN_IMPOSSIBLE, /* it went backwards or over a taken branch */
};

/* What came before a branch when it was last seen, and the verdict on the run between. */
struct csp_recent_run {
    uint32_t older; /* number of a branch and 1; 0: none */
    uint32_t verdict;
};

/* Reads samples of one set, and remembers what it found out of their runs. */
struct csp_history_reader {
    const struct csp_program *program;
    struct csp_pairs runs; /* numbers of two branches, the older one first … */
    CSP_VEC(uint8_t) verdicts;
    struct csp_recent_run *recent; /* by number of the newer branch */
    struct csp_history history;    /* calls and returns alone */
    csp_frames recorded;
};

/* For a set that gets no more branches. */
void csp_history_reader_begin(struct csp_history_reader *reader, const struct csp_program *program,
                              const struct csp_sample_set *set);

/* Of a run that is not the newer branch's recent one: that is what it becomes. */
enum csp_run_verdict csp_sample_run_judge(struct csp_history_reader *reader,
                                          const struct csp_sample_set *set, uint32_t older,
                                          uint32_t newer);

/* Of the run between branch `i` of a sample and the next newer one; i > 0. */
static inline enum csp_run_verdict csp_sample_run(struct csp_history_reader *reader,
                                                  const struct csp_sample_set *set,
                                                  const struct csp_flat_sample *sample, uint32_t i)
{
    uint32_t older = sample->branches[i], newer = sample->branches[i - 1];
    const struct csp_recent_run *recent = &reader->recent[newer];
    return recent->older == older + 1 ? (enum csp_run_verdict)recent->verdict
                                      : csp_sample_run_judge(reader, set, older, newer);
}

/* The calls of the history of sample `number` of a set that had not returned at its end, innermost
 * first. History ends at the first run, from its end back, that cannot have been: what is beyond it
 * does not lead here. */
void csp_sample_open_calls(struct csp_history_reader *reader, const struct csp_sample_set *set,
                           size_t number, csp_frames *out);

/* Whether a sample's callchain lacks callers whose calls the history shows. `out` then is the call
 * stack with them, leaf first. */
bool csp_sample_callchain(struct csp_history_reader *reader, const struct csp_sample_set *set,
                          size_t number, csp_frames *out);
void csp_history_reader_free(struct csp_history_reader *reader);

#endif
