/* Taking single records apart: where one ends. */
#include "perfdata/reader_private.h"

#include <string.h>

enum { RECORD_HEADER = 8 }; /* u32 type, u16 misc, u16 size */

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
    if (record->type == CSP_RECORD_AUXTRACE) {
        struct csp_auxtrace_event event;
        if (!csp_record_auxtrace(record, &event))
            return false;
        record->payload_size = event.size;
    } else if (record->type == CSP_RECORD_HEADER_TRACING_DATA) {
        if (record->body_size < 4)
            return false;
        record->payload_size = csp_load32(record->body);
    }
    record->payload = at + record->size;
    return record->payload_size <= left - record->size;
}
