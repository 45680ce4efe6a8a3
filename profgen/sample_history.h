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

/* Whether execution got from where one branch went to where the next newer one left: bits. */
enum csp_run_verdict {
    CSP_RUN_POSSIBLE = 0, /* or nobody can tell: all of it was outside of the binary */
    CSP_RUN_HALF_OUTSIDE = 1 << 0,
    CSP_RUN_IMPOSSIBLE = 1 << 1, /* it went backwards or over a taken branch */
};

/* The run between two branches. */
struct csp_known_run {
    uint32_t older, newer; /* numbers of branches and 1; 0: none */
    uint8_t verdict;
    bool calls; /* the older one is a call or a return */
};

/* Reads samples of one set, and remembers what it found out of their runs. */
struct csp_history_reader {
    const struct csp_program *program;
    struct csp_pairs runs; /* numbers of two branches, the older one first … */
    CSP_VEC(uint8_t) verdicts;
    struct csp_known_run *known; /* runs that were met lately, each at its own place */
    /* Of the sample read last: calls and returns alone, newest first. History ends at the first
     * run, from its end back, that cannot have been: what is beyond it does not lead here. */
    CSP_VEC(uint32_t) calls;
    CSP_VEC(uint32_t) numbers; /* of all its branches */
    csp_branches turns;        /* the calls as decode knows them */
    csp_frames recorded;
};

void csp_history_reader_begin(struct csp_history_reader *reader, const struct csp_program *program);

/* Reads sample `number` of a set. Returns what its runs are: bits of enum csp_run_verdict. */
unsigned csp_sample_history_read(struct csp_history_reader *reader,
                                 const struct csp_sample_set *set, size_t number);

/* The calls of the history of the sample read last that had not returned at its end, innermost
 * first. */
void csp_sample_open_calls(struct csp_history_reader *reader, const struct csp_sample_set *set,
                           csp_frames *out);

/* Whether a sample's callchain lacks callers whose calls the history shows. `out` then is the call
 * stack with them, leaf first. */
bool csp_sample_callchain(struct csp_history_reader *reader, const struct csp_sample_set *set,
                          size_t number, csp_frames *out);
void csp_history_reader_free(struct csp_history_reader *reader);

#endif
