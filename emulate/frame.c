#include "emulate/frame.h"

#include <stdint.h>

enum { FRAME_SIZE = 16, LAST = FRAME_SIZE - 1 };

struct packer {
    struct csp_buf *out;
    uint8_t frame[FRAME_SIZE];
    unsigned at;
};

static void add_byte(struct packer *packer, uint8_t value)
{
    packer->frame[packer->at++] = value;
    if (packer->at < LAST)
        return;
    csp_buf_add(packer->out, packer->frame, FRAME_SIZE);
    packer->at = 0;
    packer->frame[LAST] = 0;
}

static void add_data(struct packer *packer, uint8_t value)
{
    if (packer->at % 2) {
        add_byte(packer, value);
        return;
    }
    packer->frame[LAST] |= (uint8_t)((value & 1) << packer->at / 2);
    add_byte(packer, value & 0xfe);
}

/* At an odd place an ID waits for the next even one, which the flag in the last byte delays: the
 * data byte after it still belongs to the old source. */
static void add_id(struct packer *packer, unsigned trace_id)
{
    add_byte(packer, (uint8_t)(trace_id << 1 | 1));
}

void csp_frame_pack(struct csp_buf *out, unsigned trace_id, const void *data, size_t size)
{
    struct packer packer = {.out = out};
    const uint8_t *bytes = data;
    if (!size)
        return;
    add_id(&packer, trace_id);
    for (size_t i = 0; i + 1 < size; i++)
        add_data(&packer, bytes[i]);
    uint8_t last = bytes[size - 1];
    if (packer.at % 2 || packer.at == LAST - 1) {
        add_data(&packer, last);
        if (packer.at)
            add_id(&packer, 0);
    } else {
        /* The new ID goes first and takes effect after the next byte. */
        packer.frame[LAST] |= (uint8_t)(1 << packer.at / 2);
        add_id(&packer, 0);
        add_data(&packer, last);
    }
    while (packer.at)
        add_data(&packer, 0);
}
