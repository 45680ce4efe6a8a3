/* Taking single records apart: what follows one. */
#include "perfdata/reader_private.h"

bool csp_record_find_payload(struct csp_record *record)
{
    struct csp_auxtrace_event event;
    if (record->type == CSP_RECORD_AUXTRACE) {
        if (!csp_record_auxtrace(record, &event))
            return false;
        record->payload_size = event.size;
        return true;
    }
    if (record->body_size < 4)
        return false;
    record->payload_size = csp_load32(record->body);
    return true;
}
