/* Stitching: which window belongs to which pause sample (docs/design.md, Stitching).
 *
 * A window is closed by a pause sample and was opened by a resume sample; both ends are evidence:
 *   PC     the window's last exception returns to the first user frame of the pause sample, and its
 *          first address is the PC of the resume sample;
 *   time   the window ended before the sample was written and no other pause lies between, by the
 *          trace's own timestamps or by the AUX record that a drained sink writes at each pause;
 *   order  the k-th window with the k-th pause, resynchronised where the PCs say so.
 * Nothing is guessed: where two windows fit a sample about equally well, the sample is rejected.
 *
 * This works on one stream at a time: one trace source (a CPU, or a thread's ring) with the pauses
 * and resumes that acted on it.
 */
#ifndef CSP_DECODE_STITCH_H
#define CSP_DECODE_STITCH_H

#include "decode/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSP_STITCH_NONE UINT32_MAX

/* Times are in the samples' clock; 0 is unknown, as it is for addresses and contexts. */
struct csp_stitch_window {
    uint64_t start_pc;              /* the first address executed */
    uint64_t end_pc;                /* where the last exception returns to */
    uint64_t context;               /* pid or tid, whatever the trace carries */
    uint64_t first_time, last_time; /* trace timestamps at both ends */
    uint64_t record_time; /* of the AUX record that carried its end; 0 when it did not end there */
    uint64_t not_before;  /* of the AUX record before that one: its pause is not older */
    uint64_t begun_by;    /* it had begun when this earlier record was written; 0: not known */
    bool drained; /* the record holds this window alone: its pause seems to have drained the sink */
    bool cut;     /* its end was lost: last_time is not that of its end, and it has no end_pc */
    bool adjacent; /* no trace was lost between it and the one before */
    bool unsure;   /* these may be the beginning of one and the end of another */
};

struct csp_stitch_pause {
    uint64_t time;
    uint64_t pc;           /* first user frame of the callchain */
    uint32_t context;      /* same meaning as a window's */
    uint32_t event;        /* csp_record.attr of its sample, and … */
    const uint8_t *sample; /* … the body of that record: both for the caller */
};

struct csp_stitch_resume {
    uint64_t time;
    uint64_t pc;
};

struct csp_stitch_stream {
    const struct csp_stitch_window *windows; /* in trace order */
    uint32_t window_len;
    const struct csp_stitch_pause *pauses; /* in time order, as are the resumes */
    uint32_t pause_len;
    const struct csp_stitch_resume *resumes;
    uint32_t resume_len;
    /* When the recording tells that records were lost (or events throttled) since the one before:
     * samples may be missing. In time order. */
    const uint64_t *losses;
    uint32_t loss_len;
    /* When threads were switched: that ends a window without a pause, and begins another without a
     * resume. */
    const uint64_t *switches;
    uint32_t switch_len;
    /* How far a trace timestamp may lie after the sample it precedes: the precision of the clocks.
     */
    uint64_t tolerance;
};

/* Why a pause sample has no branch history. A reason is given where the evidence excludes the
 * others. */
enum csp_unstitched {
    CSP_UNSTITCHED_NOT,       /* it has one */
    CSP_UNSTITCHED_NO_WINDOW, /* tracing was already off, or its trace was lost */
    CSP_UNSTITCHED_PC,        /* the only window that fits in time ended elsewhere */
    CSP_UNSTITCHED_CONTEXT,   /* … belongs to another thread or process */
    CSP_UNSTITCHED_AMBIGUOUS, /* several windows fit */
    CSP_UNSTITCHED_CUT, /* its window was cut short: what is left is not known to have run last */
    /* Its window was lost; or it is one at hand that was cut short, ended elsewhere or is another
     * thread's, whose own sample was lost otherwise: the recording fits either. */
    CSP_UNSTITCHED_UNTOLD,
    CSP_UNSTITCHED_COUNT
};

/* "ended elsewhere" and so on, for messages and statistics. */
const char *csp_unstitched_name(enum csp_unstitched reason);
const char *csp_verdict_name(enum csp_verdict verdict);

struct csp_stitch_pair {
    uint32_t window;   /* CSP_STITCH_NONE without a verdict */
    uint8_t verdict;   /* enum csp_verdict */
    uint8_t reason;    /* enum csp_unstitched */
    bool start_agrees; /* the resume sample's PC is the window's first address */
};

enum csp_stitch_time {
    CSP_STITCH_TIME_NONE,    /* order alone */
    CSP_STITCH_TIME_RECORDS, /* the AUX records of a drained sink */
    CSP_STITCH_TIME_FITTED,  /* the trace's, whose relation to the samples' was found out */
    CSP_STITCH_TIME_TRACE,   /* the trace's, in the samples' clock */
};

/* What a stream's stitching saw of its clocks. */
struct csp_stitch_clock {
    enum csp_stitch_time time;            /* what served as time */
    uint64_t pairs;                       /* from which the lag was learnt */
    int64_t lag_min, lag_median, lag_max; /* sample time minus window end, ns */
    int64_t lag_limit;                    /* beyond it, a sample is not the window's */
};

/* What the PCs say of the trace's own times: of how many windows the first pause behind them, by
 * these times, was taken where the window ended, and of how many elsewhere. */
struct csp_stitch_trust {
    uint64_t agree, contradict;
};

/* Adds what this stream says. All streams of a recording have one clock: where a stream is too
 * short to tell whether the trace's times are the samples', the others do. */
void csp_stitch_survey(const struct csp_stitch_stream *stream, struct csp_stitch_trust *trust);

/* Fills `pairs`, one per pause. No window is given to two pauses. `trust` is what all streams of
 * the recording say, null: nothing is known beside this one. Cannot fail. */
void csp_stitch(const struct csp_stitch_stream *stream, const struct csp_stitch_trust *trust,
                struct csp_stitch_pair *pairs, struct csp_stitch_clock *clock);

#endif
