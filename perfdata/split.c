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
    bool is_there = left >= RECORD_HEADER;
    uint16_t size = is_there ? csp_load16(at + 6) : 0;
    bool is_whole = size >= RECORD_HEADER && size <= left;
    /* All of it is set one by one: clearing it first takes four times as long. */
    *record = (struct csp_record){
        .type = is_there ? csp_load32(at) : 0,
        .misc = is_there ? csp_load16(at + 4) : 0,
        .size = size,
        .body = is_whole ? at + RECORD_HEADER : NULL,
        .body_size = is_whole ? size - (size_t)RECORD_HEADER : 0,
        .payload = is_whole ? at + size : NULL,
        .payload_size = 0,
        .offset = 0,
        .ordinal = 0,
        .ids = 0,
        .pid = CSP_NO_TID,
        .tid = CSP_NO_TID,
        .cpu = CSP_NO_TID,
        .attr = 0,
        .unused = 0,
        .time = 0,
        .id = 0,
        .stream_id = 0,
    };
    if (!is_whole)
        return false;
    if (csp_record_has_payload(record->type) && !payload_size(record, &record->payload_size))
        return false;
    return record->payload_size <= left - size;
}
