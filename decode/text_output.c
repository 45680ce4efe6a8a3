#include "decode/text_output.h"

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

void csp_text_branch_stack(struct csp_buf *out, const struct csp_branch *oldest_first, size_t count,
                           size_t limit)
{
    size_t stop = limit && limit < count ? count - limit : 0;
    for (size_t i = count; i > stop; i--) {
        csp_buf_add_string(out, " 0x");
        csp_buf_add_hex(out, oldest_first[i - 1].from);
        csp_buf_add_string(out, "/0x");
        csp_buf_add_hex(out, oldest_first[i - 1].to);
        csp_buf_add_string(out, "/P/-/-/0");
    }
}
