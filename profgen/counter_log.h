/* What is to be added to counters, written down as it comes: sorted and added up now and then, and
 * added to a table at the end. Most counters of a program with many contexts are met a few times
 * only, so looking each up in a table, larger than the processor's cache, would take longer. */
#ifndef CSP_PROFGEN_COUNTER_LOG_H
#define CSP_PROFGEN_COUNTER_LOG_H

#include "profgen/counters.h"

/* Zero-initialise. */
struct csp_counter_log {
    CSP_VEC(struct csp_counted) list;
    size_t sorted; /* so many are distinct and in order: by context, then span */
};

/* Adds up what is in the log several times. */
void csp_counter_log_settle(struct csp_counter_log *log);
/* What the contexts of another table's log are of this one's. */
struct csp_context_numbers {
    const uint32_t *contexts; /* distinct ones for distinct ones */
    uint32_t known; /* so many there were before: the log has none but these. Others were numbered
                     * from here on, in the order of the other's. */
};

/* Adds what is in a log of another table to this one, with the numbers that contexts and spans have
 * there. The other is empty then. */
void csp_counter_log_take(struct csp_counter_log *log, struct csp_counter_log *other,
                          struct csp_context_numbers numbers, const uint32_t *spans);
/* Adds all to a table that has the contexts and spans. The log is empty then. */
void csp_counter_log_end(struct csp_counter_log *log, struct csp_counter_table *table);

static inline void csp_counter_log_add(struct csp_counter_log *log, uint32_t context, uint32_t span,
                                       uint64_t count)
{
    enum { FEW = 1 << 18 };
    if (log->list.len >= FEW && log->list.len / 4 >= log->sorted)
        csp_counter_log_settle(log);
    csp_vec_push(&log->list, (struct csp_counted){count, context, span});
}

#endif
