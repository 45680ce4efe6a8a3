#include "native_classes.h"

#include "base/buf.h"
#include "decode/trace/native/deframer.h"
#include "decode/trace/native/packet.h"

/* Behind the first A-Sync, or the end. */
static const uint8_t *synchronise(const uint8_t *at, const uint8_t *end)
{
    for (unsigned zeroes = 0; at < end; at++) {
        if (*at == 0x80 && zeroes >= 11)
            return at + 1;
        zeroes = *at ? 0 : zeroes + 1;
    }
    return end;
}

static enum csp_fuzz_class class_of_source(const struct csp_trace_config *config,
                                           const uint8_t *data, size_t size)
{
    struct csp_packet_reader reader;
    struct csp_packet packet;
    const uint8_t *end = data + size, *at = synchronise(data, end);
    bool has_begun = false, has_context = false;
    csp_packet_reader_init(&reader, config);
    for (size_t length; at < end; at += length) {
        length = csp_packet_read(&reader, at, end, &packet);
        if (!length || packet.type == CSP_PACKET_BAD)
            break;
        has_begun |= packet.type == CSP_PACKET_TRACE_INFO;
        if (has_begun && packet.type == CSP_PACKET_ADDRESS && !has_context)
            return CSP_FUZZ_NO_CONTEXT;
        has_context |= has_begun && packet.context.changed;
        if (packet.context.changed && !packet.context.is_64bit)
            return CSP_FUZZ_32BIT;
    }
    return CSP_FUZZ_COMPARABLE;
}

static enum csp_fuzz_class class_of_frames(const struct fuzz_head *head, const uint8_t *data,
                                           size_t size)
{
    static const uint8_t ids[] = {FUZZ_FIRST_ID, FUZZ_SECOND_ID};
    struct csp_deframer deframer = {0};
    enum csp_fuzz_class class = CSP_FUZZ_COMPARABLE;
    csp_deframer_reset(&deframer);
    csp_deframe(&deframer, data, (uint32_t)(size / CSP_FRAME_SIZE));
    for (size_t i = 0; i < sizeof ids && class == CSP_FUZZ_COMPARABLE; i++) {
        struct csp_buf bytes = {0};
        for (size_t k = 0; k < deframer.runs.len; k++) {
            const struct csp_deframed_run *run = &deframer.runs.data[k];
            if (run->id == ids[i])
                csp_buf_add(&bytes, deframer.bytes.data + run->start, run->end - run->start);
        }
        class = class_of_source(&head->config, (const uint8_t *)bytes.data, bytes.len);
        csp_buf_free(&bytes);
    }
    csp_deframer_free(&deframer);
    return class;
}

enum csp_fuzz_class csp_fuzz_class(const struct fuzz_head *head, const uint8_t *data, size_t size)
{
    return head->formatted ? class_of_frames(head, data, size)
                           : class_of_source(&head->config, data, size);
}

static bool is_indirect(enum csp_branch_kind kind)
{
    return kind == CSP_BRANCH_INDIRECT || kind == CSP_BRANCH_INDIRECT_CALL ||
           kind == CSP_BRANCH_RETURN || kind == CSP_BRANCH_EXCEPTION_RETURN;
}

/* The last element of this type and the same source before that one; null: none. */
static const struct csp_element *find_before(const struct csp_elements *elements, size_t number,
                                             enum csp_element_type type)
{
    uint8_t source = elements->list.data[number].source;
    while (number-- > 0) {
        const struct csp_element *element = &elements->list.data[number];
        if (element->type == type && element->source == source)
            return element;
    }
    return NULL;
}

enum csp_fuzz_difference csp_fuzz_difference(const struct csp_elements *ours,
                                             const struct csp_elements *theirs,
                                             struct csp_fuzz_place at)
{
    const struct csp_element *exception = &ours->list.data[at.ours];
    const struct csp_element *range = &theirs->list.data[at.theirs];
    if (exception->type != CSP_ELEMENT_EXCEPTION || range->type != CSP_ELEMENT_RANGE)
        return CSP_FUZZ_OTHER;
    if (exception->a < range->a)
        return CSP_FUZZ_RETURNS_BACK;
    const struct csp_element *last = find_before(ours, at.ours, CSP_ELEMENT_RANGE);
    if (last && last->taken && is_indirect((enum csp_branch_kind)last->kind) && last->b == range->a)
        return CSP_FUZZ_BEHIND_BRANCH;
    return CSP_FUZZ_OTHER;
}

/* Both are told with the exception's packets, so that nothing of another source is between. */
static bool exception_follows(const struct csp_elements *elements, size_t number)
{
    const struct csp_element *at = elements->list.data + number + 1;
    const struct csp_element *end = elements->list.data + elements->list.len;
    if (at < end && at->type == CSP_ELEMENT_RANGE)
        at++;
    return at < end && at->type == CSP_ELEMENT_EXCEPTION;
}

bool csp_fuzz_repeats_context(const struct csp_elements *theirs, size_t number)
{
    const struct csp_element *context = &theirs->list.data[number];
    if (context->type != CSP_ELEMENT_CONTEXT || !exception_follows(theirs, number))
        return false;
    const struct csp_element *last = find_before(theirs, number, CSP_ELEMENT_CONTEXT);
    return last && last->a == context->a && last->b == context->b && last->el == context->el &&
           last->secure == context->secure;
}
