/* Taking single records apart: where one ends. */
#include "perfdata/reader_private.h"

#include <string.h>

enum { RECORD_HEADER = 8 }; /* u32 type, u16 misc, u16 size */

static bool payload_size(const struct csp_record *record, uint64_t *size)
{
    struct csp_auxtrace_event event;
    if (record->type == CSP_RECORD_AUXTRACE) {
        if (!csp_record_auxtrace(record, &event))
            return false;
        *size = event.size;
        return true;
    }
    if (record->body_size < 4)
        return false;
    *size = csp_load32(record->body);
    return true;
}

bool csp_record_split(struct csp_record *record, const uint8_t *at, uint64_t left)
{
    *record = (struct csp_record){.pid = CSP_NO_TID, .tid = CSP_NO_TID, .cpu = CSP_NO_TID};
    if (left < RECORD_HEADER)
        return false;
    record->type = csp_load32(at);
    record->misc = csp_load16(at + 4);
    record->size = csp_load16(at + 6);
    if (record->size < RECORD_HEADER || record->size > left)
        return false;
    record->body = at + RECORD_HEADER;
    record->body_size = record->size - (size_t)RECORD_HEADER;
    if (csp_record_has_payload(record->type) && !payload_size(record, &record->payload_size))
        return false;
    record->payload = at + record->size;
    return record->payload_size <= left - record->size;
}
