/* From all contexts to those that are written: the pre-inliner, and what becomes of cold ones. */
#ifndef CSP_PROFGEN_CONTEXT_FINISH_H
#define CSP_PROFGEN_CONTEXT_FINISH_H

#include "profgen/contexts.h"
#include "profgen/guids.h"

/* `sizes` may be null when the options do not need them. The result does not depend on the number
 * of threads. */
void csp_contexts_finish(struct csp_context_tree *tree, struct csp_guids *guids,
                         const struct csp_profile_options *options,
                         const struct csp_inline_sizes *sizes, unsigned threads,
                         struct csp_profile_result *result);
/* By lines, a call ran at least as often as its targets were entered. Contexts by probes have it
 * so. `update_totals` makes totals the sums of the counts before. */
void csp_contexts_settle_lines(struct csp_context_tree *tree, bool update_totals);

#endif
