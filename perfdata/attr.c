#include "perfdata/attr.h"

#include "base/bytes.h"

#include <string.h>

/* Offsets in struct perf_event_attr, linux/perf_event.h. */
enum {
    AT_TYPE = 0,
    AT_SIZE = 4,
    AT_CONFIG = 8,
    AT_PERIOD = 16,
    AT_SAMPLE_TYPE = 24,
    AT_READ_FORMAT = 32,
    AT_FLAGS = 40,
    AT_WAKEUP = 48,
    AT_CONFIG1 = 56,
    AT_CONFIG2 = 64,
    AT_BRANCH_SAMPLE_TYPE = 72,
    AT_REGS_USER = 80,
    AT_STACK_USER = 88,
    AT_CLOCKID = 92,
    AT_REGS_INTR = 96,
    AT_AUX_WATERMARK = 104,
    AT_MAX_STACK = 108,
    AT_AUX_SAMPLE_SIZE = 112,
    AT_AUX_ACTION = 116,
    AT_CONFIG3 = 128,
    ATTR_KNOWN = CSP_ATTR_SIZE_CONFIG3,
};

void csp_attr_decode(struct csp_attr *attr, const uint8_t *data, uint32_t size)
{
    uint8_t at[ATTR_KNOWN] = {0};
    memcpy(at, data, size < ATTR_KNOWN ? size : ATTR_KNOWN);
    *attr = (struct csp_attr){
        .type = csp_load32(at + AT_TYPE),
        .config = csp_load64(at + AT_CONFIG),
        .config1 = csp_load64(at + AT_CONFIG1),
        .config2 = csp_load64(at + AT_CONFIG2),
        .config3 = csp_load64(at + AT_CONFIG3),
        .sample_period = csp_load64(at + AT_PERIOD),
        .sample_type = csp_load64(at + AT_SAMPLE_TYPE),
        .read_format = csp_load64(at + AT_READ_FORMAT),
        .flags = csp_load64(at + AT_FLAGS),
        .branch_sample_type = csp_load64(at + AT_BRANCH_SAMPLE_TYPE),
        .sample_regs_user = csp_load64(at + AT_REGS_USER),
        .sample_regs_intr = csp_load64(at + AT_REGS_INTR),
        .sample_stack_user = csp_load32(at + AT_STACK_USER),
        .clockid = (int32_t)csp_load32(at + AT_CLOCKID),
        .wakeup = csp_load32(at + AT_WAKEUP),
        .aux_watermark = csp_load32(at + AT_AUX_WATERMARK),
        .aux_sample_size = csp_load32(at + AT_AUX_SAMPLE_SIZE),
        .aux_action = csp_load32(at + AT_AUX_ACTION),
        .sample_max_stack = csp_load16(at + AT_MAX_STACK),
        .raw = data,
        .raw_size = size,
    };
}

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

void csp_attr_encode(const struct csp_attr *attr, uint32_t size, struct csp_buf *out)
{
    uint8_t at[ATTR_KNOWN] = {0};
    put32(at + AT_TYPE, attr->type);
    put32(at + AT_SIZE, size);
    put64(at + AT_CONFIG, attr->config);
    put64(at + AT_CONFIG1, attr->config1);
    put64(at + AT_CONFIG2, attr->config2);
    put64(at + AT_CONFIG3, attr->config3);
    put64(at + AT_PERIOD, attr->sample_period);
    put64(at + AT_SAMPLE_TYPE, attr->sample_type);
    put64(at + AT_READ_FORMAT, attr->read_format);
    put64(at + AT_FLAGS, attr->flags);
    put64(at + AT_BRANCH_SAMPLE_TYPE, attr->branch_sample_type);
    put64(at + AT_REGS_USER, attr->sample_regs_user);
    put64(at + AT_REGS_INTR, attr->sample_regs_intr);
    put32(at + AT_STACK_USER, attr->sample_stack_user);
    put32(at + AT_CLOCKID, (uint32_t)attr->clockid);
    put32(at + AT_WAKEUP, attr->wakeup);
    put32(at + AT_AUX_WATERMARK, attr->aux_watermark);
    put32(at + AT_AUX_SAMPLE_SIZE, attr->aux_sample_size);
    put32(at + AT_AUX_ACTION, attr->aux_action);
    memcpy(at + AT_MAX_STACK, &attr->sample_max_stack, sizeof attr->sample_max_stack);
    csp_buf_add(out, at, size);
}
