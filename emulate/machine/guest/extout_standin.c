// SPDX-License-Identifier: GPL-2.0
/*
 * Stands in for the PMU event TRCEXTOUT1, which QEMU's PMU does not have.
 *
 * The pulse event counts while the trace unit is enabled: its window begins at a resume and lasts a
 * fixed number of cycles of the traced program. This module makes any pause event count so: it runs
 * only while its AUX event is not paused. With it, `cycles:u` as the pause event behaves as
 * TRCEXTOUT1 does with one pulse a cycle and the trace filtered to user space.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>

static void start_pauses(struct perf_event *aux, bool start)
{
	struct perf_event *event;

	for_each_sibling_event(event, aux) {
		bool stopped = event->hw.state & PERF_HES_STOPPED;

		if (!event->attr.aux_pause || event->state != PERF_EVENT_STATE_ACTIVE)
			continue;
		if (start && stopped)
			event->pmu->start(event, 0);
		else if (!start && !stopped)
			event->pmu->stop(event, PERF_EF_UPDATE);
	}
}

/* etm_event_start(event, flags) and etm_event_stop(event, mode) */
static int __kprobes before_aux_start(struct kprobe *probe, struct pt_regs *regs)
{
	if (regs_get_kernel_argument(regs, 1) & PERF_EF_RESUME)
		start_pauses((struct perf_event *)regs_get_kernel_argument(regs, 0), true);
	return 0;
}

static int __kprobes before_aux_stop(struct kprobe *probe, struct pt_regs *regs)
{
	if (regs_get_kernel_argument(regs, 1) & PERF_EF_PAUSE)
		start_pauses((struct perf_event *)regs_get_kernel_argument(regs, 0), false);
	return 0;
}

/* armpmu_start(event, flags): a thread is switched in, or throttling ends */
static int __kprobes at_counter_start(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	*(struct perf_event **)instance->data =
		(struct perf_event *)regs_get_kernel_argument(regs, 0);
	return 0;
}

static int __kprobes after_counter_start(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct perf_event *event = *(struct perf_event **)instance->data;

	if (event->attr.aux_pause && event->aux_event && event->aux_event->hw.aux_paused)
		event->pmu->stop(event, PERF_EF_UPDATE);
	return 0;
}

static struct kprobe aux_start = {
	.symbol_name = "etm_event_start",
	.pre_handler = before_aux_start,
};
static struct kprobe aux_stop = {
	.symbol_name = "etm_event_stop",
	.pre_handler = before_aux_stop,
};
static struct kretprobe counter_start = {
	.kp.symbol_name = "armpmu_start",
	.entry_handler = at_counter_start,
	.handler = after_counter_start,
	.data_size = sizeof(struct perf_event *),
	.maxactive = 64,
};

static int __init extout_standin_init(void)
{
	int error = register_kprobe(&aux_start);

	if (error)
		return error;
	error = register_kprobe(&aux_stop);
	if (error)
		goto no_stop;
	error = register_kretprobe(&counter_start);
	if (error)
		goto no_counter;
	return 0;
no_counter:
	unregister_kprobe(&aux_stop);
no_stop:
	unregister_kprobe(&aux_start);
	return error;
}

static void __exit extout_standin_exit(void)
{
	unregister_kretprobe(&counter_start);
	unregister_kprobe(&aux_stop);
	unregister_kprobe(&aux_start);
}

module_init(extout_standin_init);
module_exit(extout_standin_exit);
MODULE_DESCRIPTION("Pause events that count while the trace unit is enabled");
MODULE_LICENSE("GPL");
