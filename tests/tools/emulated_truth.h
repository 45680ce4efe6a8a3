/* The emulator's truth file (emulate/user/truth.h) and its ledger of faults
 * (emulate/fault_ledger.h), for whoever judges a recording by them. */
#ifndef CSP_TESTS_EMULATED_TRUTH_H
#define CSP_TESTS_EMULATED_TRUTH_H

#include "base/map.h"
#include "base/vec.h"
#include "emulate/faults.h"

#include <stdbool.h>
#include <stdint.h>

enum fate { FATE_WHOLE, FATE_LOST, FATE_CUT, FATE_BEHEADED, FATE_BEGUN, FATE_DOUBTFUL, FATES };
enum sample_fate { SAMPLE_WRITTEN, SAMPLE_LOST, SAMPLE_THROTTLED, SAMPLE_SKIDDED };

/* One trace window and its pause. */
struct true_window {
    uint32_t cpu, tid;
    uint64_t opened, closed, sampled; /* sampled: 0 without a sample */
    /* The last stretch of its execution that can be joined (decode/window.h). */
    uint64_t start, end;
    size_t branch_first, branch_len; /* in branches, oldest first */
    bool one_stretch;                /* … is all of it */
    enum fate fate;
    bool no_beginning, no_end;
    bool unproven; /* nothing in the recording tells that it is whole */
    enum sample_fate sample;
    bool seen;
};

struct true_branch {
    uint64_t from, to;
};

struct emulated_truth {
    CSP_VEC(struct true_window) windows; /* by CPU, then time */
    CSP_VEC(struct true_branch) branches;
    struct csp_map by_sample; /* see truth_of_sample */
    struct csp_faults faults;
    uint64_t pauses, lost, bytes, unannounced; /* the ledger's totals */
};

/* Both exit with a message when the file makes no sense. */
void truth_read(struct emulated_truth *truth, const char *path);
void truth_read_ledger(struct emulated_truth *truth, const char *path);
/* The window of the sample at this time of the recording's clock; null: it closed none. */
struct true_window *truth_of_sample(struct emulated_truth *truth, uint32_t tid, uint64_t time);
void truth_free(struct emulated_truth *truth);

#endif
