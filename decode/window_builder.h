/* From the elements of one trace source to runs and windows (decode/window.h). */
#ifndef CSP_DECODE_WINDOW_BUILDER_H
#define CSP_DECODE_WINDOW_BUILDER_H

#include "decode/trace/engine.h"
#include "decode/window.h"

/* What the elements were, whether or not they found their way into a run. */
struct csp_window_stats {
    uint64_t ranges, instructions;
    uint64_t branches;        /* in runs */
    uint64_t unmapped_ranges; /* went on where the code is not known */
    uint64_t unknown_paths;   /* Q elements: ran, but how is not known */
    uint64_t discontinuities; /* TRACE_ON, overflow, discard, bad packet */
    uint64_t exceptions, overflows, windows, runs;
};

void csp_window_stats_add(struct csp_window_stats *sum, const struct csp_window_stats *one);
/* What was counted since `before`. */
struct csp_window_stats csp_window_stats_since(const struct csp_window_stats *now,
                                               const struct csp_window_stats *before);

/* Zero-initialise, then set the first four. */
struct csp_window_builder {
    struct csp_windows *out;
    uint32_t source;
    enum csp_context_field context_field;
    uint64_t untraced_context; /* stands in for the context ID when none is traced */

    /* Branches are counted and not kept: stretches come without them. */
    bool sums_up;
    uint64_t offset_shift; /* added to the offsets of TRACE_ON elements */

    struct csp_window_stats stats;
    uint64_t context_id;
    uint8_t el;
    uint64_t doubted; /* where something may be missing, as offsets of windows are */
    bool enabling;    /* the next TRACE_ON is one */
    bool in_window;   /* out->windows has one that is not complete */
    bool in_run;      /* its last run is still going on */
    bool from_branch; /* the last range ended in the taken branch below, its target to come */
    enum csp_branch_kind kind;
    uint64_t from;
    uint64_t start;           /* where the run went on after its last branch */
    uint64_t timestamp;       /* the last, in this window */
    size_t unstamped;         /* runs from here on have no timestamp behind them */
    uint64_t branches_before; /* stats.branches when the window began */
};

void csp_window_builder_add(struct csp_window_builder *builder, const struct csp_element *elements,
                            size_t count);
/* The stream ends here; nothing that follows belongs to the same window. */
void csp_window_builder_end(struct csp_window_builder *builder, enum csp_run_end how);
/* Something may be missing at `offset` of the source's stream, which the trace was fed up to. An
 * enabling before it that is told later, with the first that ran, begins a doubtful window, too. */
void csp_window_builder_doubt(struct csp_window_builder *builder, uint64_t offset);
/* How many windows nothing can be added to any more: all after an end, else all but the last. */
size_t csp_window_builder_complete(const struct csp_window_builder *builder);
/* The chunk ends here: a window that is not complete is carried over. */
void csp_window_builder_carry(struct csp_window_builder *builder);
/* Goes on in another list, which is empty: a window that is not complete moves there. */
void csp_window_builder_move(struct csp_window_builder *builder, struct csp_windows *to);
/* After the windows were taken away: `out` is emptied, and building goes on. Only after an end. */
void csp_window_builder_clear(struct csp_window_builder *builder);

#endif
