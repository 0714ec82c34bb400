/* SPDX-License-Identifier: MIT */
/*
 * Which of the bits that a spec asks for beyond its event is refused. The kernel says EINVAL or
 * EOPNOTSUPP for all alike, so the event is opened with all of them, then with each left out.
 */
#include "refusal.h"

#include <errno.h>
#include <stdio.h>

#include "../spec/spec.h"

struct bit {
	unsigned int flag, want;	/* what asks for it: one of the two */
	const char *name, *why;
};

static const struct bit bits[] = {
	{ PM_SPEC_PRECISE | PM_SPEC_PRECISE_1 | PM_SPEC_PRECISE_2, 0,
	  "PM_SPEC_PRECISE (attr.precise_ip)",
	  "its PMU has no precise samples of this event" },
	{ PM_SPEC_PINNED, 0, "PM_SPEC_PINNED (attr.pinned)", "this event cannot be pinned" },
	{ PM_SPEC_NO_HOST | PM_SPEC_NO_GUEST, 0,
	  "PM_SPEC_NO_HOST or PM_SPEC_NO_GUEST (attr.exclude_host, exclude_guest)",
	  "its PMU does not tell guests and host apart" },
	{ PM_SPEC_NO_IDLE, 0, "PM_SPEC_NO_IDLE (attr.exclude_idle)",
	  "its PMU counts idle CPUs, too" },
	{ PM_SPEC_NO_USER | PM_SPEC_NO_KERNEL | PM_SPEC_NO_HYPERVISOR, 0,
	  "PM_SPEC_NO_USER, NO_KERNEL or NO_HYPERVISOR (attr.exclude_user and on)",
	  "its PMU counts all modes alike" },
	{ 0, PM_WANT_BRANCHES, "PM_WANT_BRANCHES (PERF_SAMPLE_BRANCH_STACK)",
	  "its PMU keeps no branches" },
	{ 0, PM_WANT_KERNEL_FRAMES, "PM_WANT_KERNEL_FRAMES (a call chain of the kernel)",
	  "frames of the kernel are not given here" },
};

#define BITS (sizeof(bits) / sizeof(bits[0]))

static bool is_asked(const struct pm_event_spec *spec, const struct bit *bit)
{
	return (spec->flags & bit->flag) || (spec->want & bit->want);
}

/* As a session opens it, with what the spec asks for; without what is left out. */
static struct perf_event_attr attr_of(const struct pm_event_spec *spec)
{
	struct perf_event_attr attr = pm_spec_attr(spec, false);

	attr.disabled = 1;
	attr.sample_period = spec->frequency ? spec->frequency : spec->period;
	attr.freq = spec->frequency != 0;
	attr.pinned = !!(spec->flags & PM_SPEC_PINNED);
	attr.precise_ip = pm_spec_precise(spec) != 0;
	if (spec->want & PM_WANT_CALLCHAIN) {
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr.exclude_callchain_kernel = !(spec->want & PM_WANT_KERNEL_FRAMES);
	}
	if (spec->want & PM_WANT_BRANCHES) {
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	}
	return attr;
}

static bool opens(const struct pm_event_spec *spec, int cpu)
{
	const struct perf_event_attr attr = attr_of(spec);

	return pm_spec_opens(spec, &attr, cpu);
}

/* Without the bits of the rows from `first` to `last`. */
static bool opens_without(const struct pm_event_spec *spec, int cpu, size_t first, size_t last)
{
	struct pm_event_spec less = *spec;

	for (size_t i = first; i <= last; i++) {
		less.flags &= ~bits[i].flag;
		less.want &= ~bits[i].want;
	}
	return opens(&less, cpu);
}

static void blame(const struct bit *bit, struct pm_refusal *ret)
{
	ret->cause = PM_CAUSE_UNSUPPORTED;
	PM_SAY(ret->gate, "%s is refused: %s", bit->name, bit->why);
	PM_SAY(ret->change, "leave it out: without it the event opens");
}

/* No single one; the names of all that were asked for. */
static void blame_all(const struct pm_event_spec *spec, struct pm_refusal *ret)
{
	size_t used = 0;

	ret->cause = PM_CAUSE_UNSUPPORTED;
	ret->gate[0] = '\0';
	for (size_t i = 0; i < BITS; i++)
		if (is_asked(spec, &bits[i]) && used < sizeof(ret->gate))
			used += (size_t)snprintf(ret->gate + used, sizeof(ret->gate) - used, "%s%s",
						 used ? " and " : "", bits[i].name);
	PM_SAY(ret->change, "leave them out: without them the event opens");
}

/* PMUs that count all modes alike, on 32-bit Arm for example, say EPERM to exclude_kernel. */
static bool is_exclusion(const struct pm_event_spec *spec, int cpu, int error)
{
	struct pm_event_spec all = *spec;

	all.flags &= ~(unsigned int)PM_SPEC_USER_ONLY;
	return error == EPERM && (spec->flags & PM_SPEC_USER_ONLY) && !opens(spec, cpu) &&
		opens(&all, cpu);
}

bool pm_refused_bit(const struct pm_event_spec *spec, int cpu, int error, struct pm_refusal *ret)
{
	static const struct bit exclusion = {
		PM_SPEC_USER_ONLY, 0, "PM_SPEC_USER_ONLY (attr.exclude_kernel)",
		"its PMU counts all modes alike",
	};
	size_t asked = 0;

	if (is_exclusion(spec, cpu, error)) {
		blame(&exclusion, ret);
		return true;
	}
	for (size_t i = 0; i < BITS; i++)
		asked += is_asked(spec, &bits[i]);
	if (asked == 0 || (error != EINVAL && error != EOPNOTSUPP) || opens(spec, cpu))
		return false;
	for (size_t i = 0; i < BITS; i++)
		if (is_asked(spec, &bits[i]) && opens_without(spec, cpu, i, i)) {
			blame(&bits[i], ret);
			return true;
		}
	if (!opens_without(spec, cpu, 0, BITS - 1))
		return false;
	blame_all(spec, ret);
	return true;
}
