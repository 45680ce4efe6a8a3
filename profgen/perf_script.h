/* Samples as text, as `perf script -F ip,brstack --show-mmap-events` prints them:
 *
 *     PERF_RECORD_MMAP2 12/12: [0x201000(0x1000) @ 0x1000 00:1d 5 7]: r-xp /home/app
 *
 *     3                                       (how often, optional)
 *               20179e                        (frames, leaf first)
 *               2017f9
 *      0x2017cf/0x20179e/P/-/-/0  0x20177f/0x2017c4/P/-/-/0       (branches from/to, newest first)
 *
 * or, without callchains, an address and the branches on one line.
 */
#ifndef CSP_PROFGEN_PERF_SCRIPT_H
#define CSP_PROFGEN_PERF_SCRIPT_H

#include "base/file.h"
#include "profgen/address_map.h"
#include "profgen/sample_set.h"

struct csp_perf_script_stats {
    uint64_t mappings;      /* of any file */
    uint64_t mappings_used; /* of the binary */
    uint64_t other_lines;   /* neither sample, mapping nor blank */
    uint64_t bad_branches;  /* tokens that are no from/to: the rest of their line is not used */
};

/* Whether the first sample with branches has a callchain too. Errors: CSP_ERR_INPUT when there is
 * no sample with branches at all; CSP_ERR_IO. */
int csp_perf_script_has_callchains(const struct csp_input *source, bool *has,
                                   struct csp_diag *diag);
/* The sets that samples are added to, each of them to any. */
struct csp_script_sets {
    struct csp_sample_set *const *list;
    unsigned count;
};

/* Adds all samples of a text to the sets, and its mappings to a map, which also holds for the
 * samples before the first of them. Malformed lines are counted. `threads`: 0 is one; they read a
 * part of the text each, and what is in all sets together does not depend on them. Errors:
 * CSP_ERR_IO. */
int csp_perf_script_read(const struct csp_input *source, struct csp_address_map *map,
                         struct csp_script_sets sets, unsigned threads,
                         struct csp_perf_script_stats *stats, struct csp_diag *diag);

#endif
