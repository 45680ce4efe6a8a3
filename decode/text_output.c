#include "decode/text_output.h"

#include "base/hex.h"
#include "decode/stitch.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

const char *csp_branch_kind_name(enum csp_branch_kind kind)
{
    static const char *const names[] = {
        [CSP_BRANCH_UNKNOWN] = "none",        [CSP_BRANCH_CONDITIONAL] = "conditional",
        [CSP_BRANCH_DIRECT] = "direct",       [CSP_BRANCH_CALL] = "call",
        [CSP_BRANCH_INDIRECT] = "indirect",   [CSP_BRANCH_INDIRECT_CALL] = "indirect-call",
        [CSP_BRANCH_RETURN] = "return",       [CSP_BRANCH_EXCEPTION_RETURN] = "exception-return",
        [CSP_BRANCH_EXCEPTION] = "exception",
    };
    return names[kind];
}

void csp_text_range(struct csp_buf *out, const struct csp_element *range)
{
    csp_buf_add_hex(out, range->a);
    csp_buf_add_char(out, ' ');
    csp_buf_add_hex(out, range->b);
    csp_buf_add_char(out, ' ');
    csp_buf_add_decimal(out, range->instructions);
    csp_buf_add_char(out, ' ');
    csp_buf_add_string(out, range->kind != CSP_BRANCH_UNKNOWN && !range->taken
                                ? "not-taken"
                                : csp_branch_kind_name((enum csp_branch_kind)range->kind));
    csp_buf_add_char(out, '\n');
}

/* perf prints an address right-aligned behind a tab. */
static void add_frame(struct csp_buf *out, uint64_t address)
{
    char digits[CSP_HEX_ROOM];
    size_t count = (size_t)(csp_hex_put(digits, address) - digits);
    csp_buf_add(out, "\t                ", 17 - count);
    csp_buf_add(out, digits, count);
}

#define PUT(at, text) (memcpy(at, text, sizeof(text) - 1), (at) + sizeof(text) - 1)

/* Nearly all of a script is this: written without looking at how much room is left. */
static void add_branches(struct csp_buf *out, const struct csp_branch *newest_first, uint32_t count)
{
    enum { BRANCH_ROOM = 3 + CSP_HEX_ROOM + 3 + CSP_HEX_ROOM + 8 };
    char *at = csp_buf_reserve(out, (size_t)count * BRANCH_ROOM + 1);
    for (uint32_t i = 0; i < count; i++) {
        at = PUT(at, " 0x");
        at = csp_hex_put(at, newest_first[i].from);
        at = PUT(at, "/0x");
        at = csp_hex_put(at, newest_first[i].to);
        at = PUT(at, "/P/-/-/0");
    }
    *at++ = '\n';
    out->len = (size_t)(at - out->data);
    *at = '\0';
}

void csp_text_sample(struct csp_buf *out, const struct csp_sample *sample, uint32_t limit)
{
    uint32_t count = limit && limit < sample->branch_len ? limit : sample->branch_len;
    for (uint32_t i = 0; i < sample->callchain_len; i++) {
        add_frame(out, sample->callchain[i]);
        csp_buf_add_char(out, '\n');
    }
    if (!sample->callchain_len)
        add_frame(out, sample->ip);
    add_branches(out, sample->branches, count);
    if (sample->callchain_len)
        csp_buf_add_char(out, '\n');
}

static void add_history(struct csp_buf *out, const struct csp_sample *sample)
{
    enum { BRANCH_ROOM = 1 + CSP_HEX_ROOM + 1 + CSP_HEX_ROOM, ENDS_ROOM = 64 };
    char *at = csp_buf_reserve(out, (size_t)sample->branch_len * BRANCH_ROOM + ENDS_ROOM);
    at = PUT(at, " | ..");
    at = csp_hex_put(at, sample->end);
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        *at++ = ' ';
        at = csp_hex_put(at, sample->branches[i].from);
        *at++ = '>';
        at = csp_hex_put(at, sample->branches[i].to);
    }
    *at++ = ' ';
    at = csp_hex_put(at, sample->start);
    at = PUT(at, "..");
    out->len = (size_t)(at - out->data);
    *at = '\0';
}

void csp_text_stitched_sample(struct csp_buf *out, const struct csp_sample *sample)
{
    csp_buf_printf(out, "%" PRIu64 " %" PRId32 "/%" PRId32 " %" PRId32 " %s", sample->time,
                   (int32_t)sample->pid, (int32_t)sample->tid, (int32_t)sample->cpu,
                   csp_verdict_name(sample->verdict));
    for (uint32_t i = 0; i < sample->callchain_len; i++) {
        csp_buf_add_char(out, ' ');
        csp_buf_add_hex(out, sample->callchain[i]);
    }
    if (sample->branch_len || sample->end)
        add_history(out, sample);
    csp_buf_add_char(out, '\n');
}

void csp_text_mapping(struct csp_buf *out, const struct csp_mmap_event *event)
{
    csp_buf_printf(out,
                   "PERF_RECORD_MMAP2 %d/%d: [0x%" PRIx64 "(0x%" PRIx64 ") @ 0x%" PRIx64
                   " %02x:%02x %" PRIu64 " %" PRIu64 "]: %c%c%cp %s\n",
                   (int)event->pid, (int)event->tid, event->start, event->length,
                   event->page_offset, event->major, event->minor, event->inode,
                   event->inode_generation, event->protection & PROT_READ ? 'r' : '-',
                   event->protection & PROT_WRITE ? 'w' : '-',
                   event->protection & PROT_EXEC ? 'x' : '-', event->path);
}
