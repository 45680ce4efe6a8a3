/* --truth FILE: what really happened, for tests. Text, one line an item, written window by window:
 *
 *   csprof-truth 1
 *   window CPU TID OPENED CLOSED SAMPLED     times in ns; SAMPLED is 0 for a window without sample
 *   run START                                the address of its first instruction
 *   b FROM TO KIND                           a taken branch; KIND as in enum csp_flow_kind
 *   end RETURN TYPE INSTRUCTIONS             run's preferred return address, exception type (hex),
 *                                            instructions that ran
 *   lr VALUE                                 x30 at the sample
 *   calls RETURN…                            return addresses of the calls in progress, innermost
 *                                            first; the interrupted pc of a signal as !PC
 *   map START LENGTH PATH                    both hexadecimal: a file was mapped executable
 *   counts                                   exact execution counts; a later section replaces an
 *                                            earlier one
 *   code START END COUNT                     a stretch without a branch ran so often
 *   taken FROM TO COUNT                      so often was this branch taken; without the few after
 *                                            which a signal came first
 *   total INSTRUCTIONS
 *   done
 *
 * Addresses and counts without a prefix: addresses are hexadecimal, the rest decimal.
 */
#ifndef CSP_EMULATE_USER_TRUTH_H
#define CSP_EMULATE_USER_TRUTH_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "emulate/shadow_stack.h"
#include "emulate/user/block.h"

#include <stdbool.h>

/* One thread's truth. Zero-initialise; all functions are no-ops while fd is negative. */
struct csp_truth {
    int fd;                /* -1: none */
    struct csp_buf window; /* lines of the window that is open */
    uint64_t run_instructions;
    struct csp_map taken; /* block number << 32 | number of the block it went to → count */
    struct csp_shadow_stack stack;
};

void csp_truth_map(struct csp_truth *truth, uint64_t start, uint64_t length, const char *path);
void csp_truth_run(struct csp_truth *truth, uint64_t start);
void csp_truth_branch(struct csp_truth *truth, uint64_t from, uint64_t to, enum csp_flow_kind kind);
void csp_truth_run_end(struct csp_truth *truth, uint64_t return_address, unsigned type);
/* The window is over; appends it to the file. */
void csp_truth_window(struct csp_truth *truth, unsigned cpu, unsigned tid, uint64_t opened,
                      uint64_t closed, uint64_t sampled, uint64_t lr);

/* Counts the taken branch at the end of `block`. */
void csp_truth_count(struct csp_truth *truth, const struct csp_block *block,
                     const struct csp_block *to);
/* Follows the calls: `block` ended in a taken branch to `to`, with the stack pointer at `sp`. */
void csp_truth_follow(struct csp_truth *truth, const struct csp_block *block, uint64_t to,
                      uint64_t sp);

/* The section of counts, over all threads. */
void csp_truth_counts(int fd, struct csp_truth *const *threads, size_t count,
                      uint64_t instructions);

#endif
