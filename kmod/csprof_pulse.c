// SPDX-License-Identifier: GPL-2.0
/*
 * CoreSight configurations in which a trace unit tells the PMU how long it has been tracing.
 *
 * A trace unit raises no interrupt, but its external output 1 is the PMU event TRCEXTOUT1 of the same
 * core. Each configuration here makes output 1 pulse while the unit is enabled, so that a counter of
 * TRCEXTOUT1 counts within trace windows alone: with aux-action=pause it closes every window at the
 * same length and takes a callchain there (docs/kmod.md).
 *
 *   pmu_pulse          every cycle: event 1 is resource selector 1, which is always true
 *   pmu_pulse_counter  every reload + 1 cycles: event 1 is "counter 1 is at zero"
 *   pmu_pulse_strobe   the kernel's strobing, and a pulse at the end of each of its windows
 *
 * Which of the first two a core's PMU counts rightly is not written in its manual: whether an output
 * that never falls is one event or one each cycle. Both are here, to be compared with cycles.
 *
 * Registers: Arm ETM architecture specification (IHI 0064H), TRCEVENTCTL0R, TRCRSCTLRn, TRCCNTCTLRn.
 * Output 0 is left alone: it is the trigger, which the TRBE driver takes for an error. Counter 0 and
 * selector 2 are left to the driver's timestamps, and both to strobing, which therefore excludes them.
 */
#include <linux/module.h>

/* The kernel's own, from drivers/hwtracing/coresight. */
#include "coresight-etm4x-cfg.h"
#include "coresight-syscfg.h"

/* Event 1 of TRCEVENTCTL0R: bit 15 takes a pair of selectors, 2n and 2n + 1, instead of one. */
#define EVENT1_MASK	GENMASK(15, 8)
#define EVENT1(select)	((select) << 8)
#define PAIR(n)		(BIT(7) | (n))

#define ALWAYS_TRUE	1	/* selector */

static struct cscfg_regval_desc always_regs[] = {
	{
		.type = CS_CFG_REG_TYPE_STD | CS_CFG_REG_TYPE_VAL_MASK,
		.offset = TRCEVENTCTL0R,
		.val32 = EVENT1(ALWAYS_TRUE),
		.mask32 = EVENT1_MASK,
	},
};

static struct cscfg_feature_desc pulse_always = {
	.name = "pulse_always",
	.description = "External output 1 is true in every cycle\n",
	.match_flags = CS_CFG_MATCH_CLASS_SRC_ETM4,
	.nr_regs = ARRAY_SIZE(always_regs),
	.regs_desc = always_regs,
};

static struct cscfg_parameter_desc counter_params[] = {
	{
		.name = "reload",
		.value = 9,
	},
};

static struct cscfg_regval_desc counter_regs[] = {
	/* selector 4: counter 1 is at zero */
	{
		.type = CS_CFG_REG_TYPE_RESOURCE,
		.offset = TRCRSCTLRn(4),
		.hw_info = ETM4_CFG_RES_SEL,
		.val32 = 0x20002,
	},
	/* The count is kept from one time that the event is scheduled to the next. */
	{
		.type = CS_CFG_REG_TYPE_RESOURCE | CS_CFG_REG_TYPE_VAL_SAVE,
		.offset = TRCCNTVRn(1),
		.hw_info = ETM4_CFG_RES_CTR,
	},
	{
		.type = CS_CFG_REG_TYPE_RESOURCE | CS_CFG_REG_TYPE_VAL_PARAM,
		.offset = TRCCNTRLDVRn(1),
		.hw_info = ETM4_CFG_RES_CTR,
		.param_idx = 0,
	},
	/* reloads itself at zero (bit 16), counts in every cycle (selector 1) */
	{
		.type = CS_CFG_REG_TYPE_RESOURCE,
		.offset = TRCCNTCTLRn(1),
		.hw_info = ETM4_CFG_RES_CTR,
		.val32 = BIT(16) | ALWAYS_TRUE,
	},
	{
		.type = CS_CFG_REG_TYPE_STD | CS_CFG_REG_TYPE_VAL_MASK,
		.offset = TRCEVENTCTL0R,
		.val32 = EVENT1(4),
		.mask32 = EVENT1_MASK,
	},
};

static struct cscfg_feature_desc pulse_counter = {
	.name = "pulse_counter",
	.description = "External output 1 is true in one cycle of several\n"
		       "parameter 'reload': the cycles between, 0 to 65535\n",
	.match_flags = CS_CFG_MATCH_CLASS_SRC_ETM4,
	.nr_params = ARRAY_SIZE(counter_params),
	.params_desc = counter_params,
	.nr_regs = ARRAY_SIZE(counter_regs),
	.regs_desc = counter_regs,
};

/*
 * Strobing has counter 0 at zero as selector 2 and counter 1 at zero as selector 3; a window ends when
 * both are, and it calls that pair 1.
 */
static struct cscfg_regval_desc window_end_regs[] = {
	{
		.type = CS_CFG_REG_TYPE_STD | CS_CFG_REG_TYPE_VAL_MASK,
		.offset = TRCEVENTCTL0R,
		.val32 = EVENT1(PAIR(1)),
		.mask32 = EVENT1_MASK,
	},
};

static struct cscfg_feature_desc pulse_window_end = {
	.name = "pulse_window_end",
	.description = "External output 1 is true where a window of strobing ends\n",
	.match_flags = CS_CFG_MATCH_CLASS_SRC_ETM4,
	.nr_regs = ARRAY_SIZE(window_end_regs),
	.regs_desc = window_end_regs,
};

static const char *always_features[] = { "pulse_always" };

static struct cscfg_config_desc pmu_pulse = {
	.name = "pmu_pulse",
	.description = "TRCEXTOUT1 counts each cycle in which the trace unit is enabled\n",
	.nr_feat_refs = ARRAY_SIZE(always_features),
	.feat_ref_names = always_features,
};

static const char *counter_features[] = { "pulse_counter" };
static const u64 counter_presets[][ARRAY_SIZE(counter_params)] = { { 0 }, { 9 }, { 99 }, { 999 } };

static struct cscfg_config_desc pmu_pulse_counter = {
	.name = "pmu_pulse_counter",
	.description = "TRCEXTOUT1 counts once in reload + 1 cycles in which the trace unit is enabled\n"
		       "presets: every cycle, every 10, 100, 1000\n",
	.nr_feat_refs = ARRAY_SIZE(counter_features),
	.feat_ref_names = counter_features,
	.nr_presets = ARRAY_SIZE(counter_presets),
	.nr_total_params = ARRAY_SIZE(counter_params),
	.presets = &counter_presets[0][0],
};

static const char *strobe_features[] = { "strobing", "pulse_window_end" };
static const u64 strobe_presets[][2] = {
	{ 1000, 20 }, { 1000, 50 }, { 1000, 200 }, { 1000, 1000 }, { 5000, 20 }, { 5000, 200 },
};

static struct cscfg_config_desc pmu_pulse_strobe = {
	.name = "pmu_pulse_strobe",
	.description = "Strobing, of which TRCEXTOUT1 counts the windows: sample it with period 1\n"
		       "presets: windows of 1000 cycles, one in 20, 50, 200, 1000; of 5000, in 20, 200\n",
	.nr_feat_refs = ARRAY_SIZE(strobe_features),
	.feat_ref_names = strobe_features,
	.nr_presets = ARRAY_SIZE(strobe_presets),
	.nr_total_params = ARRAY_SIZE(strobe_presets[0]),
	.presets = &strobe_presets[0][0],
};

static struct cscfg_feature_desc *features[] = {
	&pulse_always, &pulse_counter, &pulse_window_end, NULL
};
static struct cscfg_config_desc *configs[] = {
	&pmu_pulse, &pmu_pulse_counter, &pmu_pulse_strobe, NULL
};

static struct cscfg_load_owner_info owner = {
	.type = CSCFG_OWNER_MODULE,
	.owner_handle = THIS_MODULE,
};

static int __init csprof_pulse_init(void)
{
	return cscfg_load_config_sets(configs, features, &owner);
}

static void __exit csprof_pulse_exit(void)
{
	cscfg_unload_config_sets(&owner);
}

module_init(csprof_pulse_init);
module_exit(csprof_pulse_exit);
MODULE_DESCRIPTION("CoreSight configurations whose length of trace the PMU can count");
MODULE_LICENSE("GPL");
