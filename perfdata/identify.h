/* Whose record it is, and the sample id fields that it carries. */
#ifndef CSP_PERFDATA_IDENTIFY_H
#define CSP_PERFDATA_IDENTIFY_H

#include "base/map.h"
#include "perfdata/record.h"

struct csp_perfdata;
struct csp_id_layouts;

/* What is known of an event of the kernel, by its id. */
struct csp_known_event {
    uint64_t id;
    const struct csp_id_layouts *layouts; /* of its records */
    uint32_t attr, cpu;
    bool is_described; /* by an attribute */
    bool is_filled;
};
enum { CSP_KNOWN_EVENTS = 256 /* a power of two: the others are looked up each time */ };

/* Zero, but for the reader. */
struct csp_identifier {
    const struct csp_perfdata *reader;
    struct csp_map cpu_of_id; /* from ID_INDEX: CPU + 1 */
    struct csp_known_event events[CSP_KNOWN_EVENTS];
};

/* An event that was opened for one CPU need not say it in each record: ID_INDEX says it once. */
void csp_identifier_learn(struct csp_identifier *identifier, const struct csp_record *id_index);
/* Fills in the attribute and the sample id fields of a record that was split off, and takes them
 * off the body. False when it names an event that the file does not have. */
bool csp_identify(struct csp_identifier *identifier, struct csp_record *record);
void csp_identifier_free(struct csp_identifier *identifier);

#endif
