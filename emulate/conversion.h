/* What turning a journal into csprof.data consists of: the head (attributes, metadata) and the
 * records. */
#ifndef CSP_EMULATE_CONVERSION_H
#define CSP_EMULATE_CONVERSION_H

#include "base/buf.h"
#include "base/vec.h"
#include "emulate/events.h"
#include "emulate/journal_reader.h"
#include "emulate/pmu.h"
#include "perfdata/attr.h"
#include "perfdata/writer.h"

enum csp_emulated_event {
    CSP_EMULATED_TRACE,
    CSP_EMULATED_RESUME,
    CSP_EMULATED_PAUSE,
    CSP_EMULATED_DUMMY,
    CSP_EMULATED_EVENTS
};

struct csp_conversion {
    struct csp_emulated_recording *recording;
    struct csp_writer *writer;
    struct csp_events events;
    bool raw; /* a TRBE's bytes, without frames */
    struct csp_attr attrs[CSP_EMULATED_EVENTS];
    char *names[CSP_EMULATED_EVENTS];
    CSP_VEC(uint64_t) ids[CSP_EMULATED_EVENTS];
    uint32_t pid;
    unsigned cpus;
    struct {
        struct csp_buf pending; /* announced, not yet in an AUXTRACE record */
        uint64_t stored, announced;
    } rings[CSP_EMULATE_CPUS];
    uint64_t reference;
};

/* The kernel's number of `event` on `cpu`. */
static inline uint64_t csp_emulated_event_id(enum csp_emulated_event event, unsigned cpu)
{
    return 1000 + 100 * (uint64_t)event + cpu;
}

/* Of AUXTRACE_INFO. With 2, AUX_OUTPUT_HW_ID records tell the trace IDs. */
static inline uint64_t csp_emulated_info_version(const struct csp_faults *faults)
{
    if (faults->on[CSP_FAULT_INFO_VERSION])
        return (uint64_t)faults->value[CSP_FAULT_INFO_VERSION];
    return faults->on[CSP_FAULT_REPEATED_IDS] ? 2 : 1;
}

/* Fills in the attributes, before the file is opened. */
void csp_conversion_describe_events(struct csp_conversion *conversion);
/* What comes before the events' records: header features and perf's own records. */
void csp_conversion_write_head(struct csp_conversion *conversion);
void csp_conversion_write_records(struct csp_conversion *conversion);

#endif
