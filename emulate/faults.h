/* What can go wrong between a trace unit and a recording of it.
 *
 * Faults are applied to the events of an emulated recording (emulate/events.h), after the program
 * ran: so one journal makes as many damaged recordings as there are faults. What was damaged is
 * listed in a ledger, so that everything that a decoder misses can be named.
 */
#ifndef CSP_EMULATE_FAULTS_H
#define CSP_EMULATE_FAULTS_H

#include "base/buf.h"
#include "base/diag.h"
#include "emulate/events.h"
#include "emulate/settings.h"

#include <stdbool.h>
#include <stdint.h>

enum csp_fault {
    CSP_FAULT_LOST_SAMPLES,  /* the ring was full for a few samples; LOST records tell how many */
    CSP_FAULT_FULL_RING,     /* … and for AUX records: pauses without a sample, trace unannounced */
    CSP_FAULT_THROTTLING,    /* for a while neither windows nor samples; THROTTLE records tell */
    CSP_FAULT_LOST_WINDOWS,  /* the trace unit was not turned on; nothing tells */
    CSP_FAULT_LOST_AUX,      /* no room for the trace: an empty AUX record, TRUNCATED */
    CSP_FAULT_TRUNCATED,     /* room for a part: an ETR keeps the newest, a TRBE the oldest */
    CSP_FAULT_COLLISION,     /* a hole anywhere in a TRBE's piece, COLLISION */
    CSP_FAULT_UNDRAINED,     /* several owners: an ETR's AUX record comes after so many windows */
    CSP_FAULT_OVERWRITTEN,   /* … and has room for so many bytes, TRUNCATED */
    CSP_FAULT_TRBE,          /* raw, a record for so many bytes, between windows */
    CSP_FAULT_MID_PACKET,    /* … anywhere, be it in a packet */
    CSP_FAULT_AUX_SAMPLES,   /* no AUX records: samples carry the newest bytes of the ring */
    CSP_FAULT_SKID,          /* one sample in ten is up to so many instructions late */
    CSP_FAULT_CLOCK_OFFSET,  /* samples' clock minus what TIME_CONV says, nanoseconds */
    CSP_FAULT_CLOCK_DRIFT,   /* … parts per million */
    CSP_FAULT_UNKNOWN_CLOCK, /* no TIME_CONV, no TS_SOURCE */
    CSP_FAULT_NO_TIME,       /* no timestamps in the trace */
    CSP_FAULT_NO_CONTEXT,    /* no context IDs in the trace */
    CSP_FAULT_INFO_VERSION,  /* of AUXTRACE_INFO; in 2, AUX_OUTPUT_HW_ID records tell trace IDs */
    CSP_FAULT_REPEATED_IDS,  /* so many sinks, in which the same trace IDs are used */
    CSP_FAULTS
};

struct csp_faults {
    bool on[CSP_FAULTS];
    double value[CSP_FAULTS]; /* share, number or size, as above */
    uint64_t seed;
};

/* Turns on the fault that `text` names: KIND or KIND=X. Errors: CSP_ERR_USAGE. */
int csp_faults_parse(struct csp_faults *faults, const char *text, struct csp_diag *diag);
const char *csp_fault_name(enum csp_fault fault);
bool csp_faults_any(const struct csp_faults *faults);

/* Damages the events; `ledger` gets a line for everything that was (emulate/fault_ledger.h). */
void csp_faults_apply(const struct csp_faults *faults, const struct csp_emulate_settings *settings,
                      struct csp_events *events, struct csp_buf *ledger);

/* What the samples' clock shows at `time`. */
uint64_t csp_faults_clock(const struct csp_faults *faults, uint64_t time);
/* Whether the trace is stored raw, by a TRBE. */
bool csp_faults_raw(const struct csp_faults *faults, const struct csp_emulate_settings *settings);
/* The trace ID that a processor's trace unit has, and the number of its sink, from 1; 0: only one.
 */
uint8_t csp_faults_trace_id(const struct csp_faults *faults, unsigned cpu);
uint32_t csp_faults_sink(const struct csp_faults *faults, unsigned cpu);

/* Private to fault_*.c: chance that is the same in each run. */
struct csp_chance {
    uint64_t state;
    bool burst; /* the last one was hit */
};
double csp_chance_uniform(struct csp_chance *chance);
/* Whether the next one is hit: a `share` of all, in bursts of about ten. */
bool csp_chance_in_burst(struct csp_chance *chance, double share);

void csp_fault_samples(const struct csp_faults *faults, struct csp_events *events,
                       struct csp_buf *ledger);
void csp_fault_trace(const struct csp_faults *faults, bool raw, struct csp_events *events,
                     struct csp_buf *ledger);
void csp_fault_full_ring(const struct csp_faults *faults, struct csp_events *events,
                         struct csp_buf *ledger);

#endif
