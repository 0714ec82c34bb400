// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kind of PMU it is, and what it lies about.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "pmu.h"

unsigned int counters = 4;
module_param(counters, uint, 0444);
MODULE_PARM_DESC(counters, "counters of each CPU, 1 to 16");

bool hybrid;
module_param(hybrid, bool, 0444);
MODULE_PARM_DESC(hybrid,
		 "two PMUs, cpu_core for the lower half of the CPUs and cpu_atom for the upper");

bool interrupts = true;
module_param(interrupts, bool, 0444);
MODULE_PARM_DESC(interrupts, "0: it only counts, and refuses to sample");

bool trace;
module_param(trace, bool, 0444);
MODULE_PARM_DESC(trace, "also a PMU perfmodes_trace, with an AUX area");

unsigned int filters = 2;
module_param(filters, uint, 0444);
MODULE_PARM_DESC(filters, "address filters of perfmodes_trace");

bool uncore;
module_param(uncore, bool, 0444);
MODULE_PARM_DESC(uncore, "also a PMU perfmodes_uncore, which belongs to no task");

bool branches;
module_param(branches, bool, 0444);
MODULE_PARM_DESC(branches, "samples can carry invented branch stacks");

bool excludes = true;
module_param(excludes, bool, 0444);
MODULE_PARM_DESC(excludes, "0: it refuses to leave anything out, as old PMUs of arm do");

unsigned int exclude_error = EOPNOTSUPP;
module_param(exclude_error, uint, 0444);
MODULE_PARM_DESC(exclude_error, "the errno of that refusal");

unsigned int sampling_error;
module_param(sampling_error, uint, 0444);
MODULE_PARM_DESC(sampling_error, "the errno by which the driver refuses to sample; 0: it samples");

bool generic_events = true;
module_param_named(generic, generic_events, bool, 0444);
MODULE_PARM_DESC(generic, "0: only raw events and those in events/");

int only_cpu = -1;
module_param(only_cpu, int, 0444);
MODULE_PARM_DESC(only_cpu, "the only CPU that it is for; -1: all of them");

unsigned int width = 64;
module_param(width, uint, 0444);
MODULE_PARM_DESC(width, "bits of a counter, 32 to 64: what it counts beyond them unseen is lost");

bool once;
module_param(once, bool, 0444);
MODULE_PARM_DESC(once, "a CPU can count the same event once at a time");

unsigned int granularity = 1;
module_param(granularity, uint, 0444);
MODULE_PARM_DESC(granularity, "periods have to be multiples of it: EINVAL");

unsigned int taken;
module_param(taken, uint, 0444);
MODULE_PARM_DESC(taken, "counters of each CPU that somebody else holds for ever");

unsigned int skid;
module_param(skid, uint, 0444);
MODULE_PARM_DESC(skid, "nanoseconds by which an interrupt is late, unless it is to be precise");

bool needs_exclude_guest;
module_param(needs_exclude_guest, bool, 0444);
MODULE_PARM_DESC(needs_exclude_guest, "it refuses events that count in guests, too");

unsigned int max_precise;
module_param(max_precise, uint, 0444);
MODULE_PARM_DESC(max_precise, "highest precise_ip that is taken");

unsigned int dead_cpu;
module_param(dead_cpu, uint, 0444);
MODULE_PARM_DESC(dead_cpu, "the CPU of the lie dead_cpu");

static const char *const lie_names[LIES] = {
	[LIE_FROZEN] = "frozen",
	[LIE_HALF_COUNT] = "half_count",
	[LIE_DOUBLE_COUNT] = "double_count",
	[LIE_BACKWARDS] = "backwards",
	[LIE_RUNS_ASLEEP] = "runs_asleep",
	[LIE_NOISE] = "noise",
	[LIE_NO_INTERRUPT] = "no_interrupt",
	[LIE_LOST_INTERRUPTS] = "lost_interrupts",
	[LIE_EXTRA_INTERRUPTS] = "extra_interrupts",
	[LIE_ONE_INTERRUPT] = "one_interrupt",
	[LIE_LATE_INTERRUPTS] = "late_interrupts",
	[LIE_EXCLUDE_USER] = "exclude_user",
	[LIE_EXCLUDE_KERNEL] = "exclude_kernel",
	[LIE_EXCLUDE_IDLE] = "exclude_idle",
	[LIE_EXCLUDE_HOST] = "exclude_host",
	[LIE_DEAD_CPU] = "dead_cpu",
	[LIE_ALL_CPUS] = "all_cpus",
	[LIE_CROWD] = "crowd",
	[LIE_PINNED] = "pinned",
	[LIE_ANY_EVENT] = "any_event",
	[LIE_SAME_EVENT] = "same_event",
	[LIE_CACHE_ZERO] = "cache_zero",
	[LIE_IP] = "ip",
	[LIE_PERIOD] = "period",
	[LIE_TRACE_EMPTY] = "trace_empty",
	[LIE_TRACE_GAPS] = "trace_gaps",
	[LIE_TRACE_SILENT] = "trace_silent",
	[LIE_TRACE_UNPAUSED] = "trace_unpaused",
};

static DECLARE_BITMAP(told_lies, LIES);

bool lies(enum lie which)
{
	return test_bit(which, told_lies);
}

static int read_lies(char *list, unsigned long *ret)
{
	char *name;
	int which;

	while ((name = strsep(&list, ","))) {
		if (!*name)
			continue;
		which = match_string(lie_names, LIES, name);
		if (which < 0) {
			pr_err("perfmodes_pmu: no lie '%s'\n", name);
			return -EINVAL;
		}
		__set_bit(which, ret);
	}
	return 0;
}

/* From then on it tells these and no others. */
static int lie_set(const char *value, const struct kernel_param *unused)
{
	DECLARE_BITMAP(wanted, LIES) = { 0 };
	char *list = kstrdup(value, GFP_KERNEL);
	int error;

	if (!list)
		return -ENOMEM;
	error = read_lies(strim(list), wanted);
	kfree(list);
	if (!error)
		bitmap_copy(told_lies, wanted, LIES);
	return error;
}

static const struct kernel_param_ops lie_ops = {
	.set = lie_set,
};
module_param_cb(lie, &lie_ops, NULL, 0200);
MODULE_PARM_DESC(lie, "what it lies about: names from README.md, separated by commas");

int parameters_check(void)
{
	if (!counters || counters > MAX_COUNTERS || taken > counters || max_precise > 3)
		return -EINVAL;
	return width < 32 || width > 64 || !granularity ? -EINVAL : 0;
}

/* 1 makes the PMUs go, with the events that are open; 0 brings them back, without. */
static int unregister_set(const char *value, const struct kernel_param *unused)
{
	bool gone;
	int error = kstrtobool(value, &gone);

	return error ?: gone ? unregister_all() : register_cores();
}

static const struct kernel_param_ops unregister_ops = {
	.set = unregister_set,
};
module_param_cb(unregister, &unregister_ops, NULL, 0200);
MODULE_PARM_DESC(unregister,
		 "1: the PMUs go although events are open (v6.15 and later), 0: they come back");
