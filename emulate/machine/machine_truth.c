#include "emulate/machine/machine_truth.h"

void csp_machine_window_run(struct csp_machine_window *window, uint64_t start, uint32_t context)
{
    if (!window->context_told || window->context != context)
        csp_buf_printf(&window->lines, "context %x\n", context);
    window->context = context;
    window->context_told = window->in_run = true;
    window->run_instructions = 0;
    csp_buf_printf(&window->lines, "run %llx\n", (unsigned long long)start);
}

void csp_machine_window_branch(struct csp_machine_window *window, uint64_t from, uint64_t to,
                               enum csp_flow_kind kind)
{
    csp_buf_add_string(&window->lines, "b ");
    csp_buf_add_hex(&window->lines, from);
    csp_buf_add_char(&window->lines, ' ');
    csp_buf_add_hex(&window->lines, to);
    csp_buf_add_char(&window->lines, ' ');
    csp_buf_add_decimal(&window->lines, kind);
    csp_buf_add_char(&window->lines, '\n');
}

void csp_machine_window_end(struct csp_machine_window *window, uint64_t return_address,
                            unsigned type)
{
    csp_buf_printf(&window->lines, "end %llx %x %llu\n", (unsigned long long)return_address, type,
                   (unsigned long long)window->run_instructions);
    window->in_run = false;
}

void csp_machine_window_close(struct csp_machine_window *window, unsigned cpu, uint64_t closed,
                              uint64_t output_cycles, uint64_t user_cycles,
                              const struct csp_shadow_stack *stack, struct csp_buf *out)
{
    csp_buf_printf(out, "window %u %llu %llu\n", cpu, (unsigned long long)window->opened,
                   (unsigned long long)closed);
    csp_buf_add(out, window->lines.data, window->lines.len);
    csp_buf_printf(out, "output %llu %llu\n", (unsigned long long)output_cycles,
                   (unsigned long long)user_cycles);
    csp_shadow_print(stack, out);
    window->lines.len = 0;
    window->context_told = window->in_run = false;
}
