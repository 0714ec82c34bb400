/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does every documented errno of perf_event_open come from the mistake that it stands for?
 *
 * Programs choose their fallback by the errno: another one sends them the wrong way. Each test
 * makes one mistake in a call that is right otherwise, and makes the right call first. The order
 * of checks is in perm.order, rules of single fields in attr.exclusions, those of groups in
 * group.rules, wrong CPU numbers in attach.bad_cpu, missing tasks (ESRCH) in attach.lost_target.
 */
#include "probe.h"
#include "finding.h"

/* name, what is wrong, since when the rule, what makes it wrong */
#define MISTAKES(X) \
	X(e2big_size, E2BIG, "an attr smaller than the first version", SINCE("2.6.31"), \
	  call.attr.size = 32) \
	X(efault, EFAULT, "a bad pointer", SINCE("2.6.31"), call.where = (void *)8) \
	X(einval_nobody_nowhere, EINVAL, "no task and no CPU", SINCE("2.6.31"), call.pid = -1) \
	X(einval_frequency, EINVAL, "a frequency beyond the limit", SINCE("2.6.31"), \
	  (call.attr.freq = 1, call.attr.sample_freq = 1ull << 40)) \
	X(enoent, ENOENT, "a type that no PMU has", SINCE("2.6.31"), call.attr.type = 0x7fffff00) \
	X(enodev_offline, ENODEV, "a CPU that is offline", NEEDS("root"), \
	  call.cpu = offline_cpu(&call)) \
	X(eopnotsupp, EOPNOTSUPP, "branch records of a software event", SINCE("3.4"), \
	  call.attr = of_branches()) \
	X(eoverflow, EOVERFLOW, "a call chain deeper than the limit", SINCE("4.8"), \
	  call.attr = too_deep())

#define DECLARE(name, error, what, since, make) POINT(name, #error ": " what) since
PROBE(TITLE("the errnos of perf_event_open") SINCE("2.6.31") MISTAKES(DECLARE))

struct call {
	struct perf_event_attr attr, *where;
	pid_t pid;
	int cpu;
};

static struct perf_event_attr of_branches(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_BRANCH_STACK);
	int error;

	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	error = try_open(&attr);
	/* It has no legal twin; this is how an unknown field is refused. */
	if (error == -EINVAL || error == -E2BIG)
		say_no("branch records are refused as something unknown: %s", pm_errno_name(error));
	return attr;
}

static struct perf_event_attr too_deep(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CALLCHAIN), without;
	int64_t limit;

	attr.exclude_callchain_kernel = 1;
	without = attr;
	attr.sample_max_stack = 1;
	close(ask_open(&attr, &without, 0, -1, "sample_max_stack"));
	if (pm_read_number("/proc/sys/kernel/perf_event_max_stack", &limit) < 0)
		say_absent("perf_event_max_stack is not there");
	if (limit >= UINT16_MAX)
		say_absent("the limit is as large as the field");
	attr.sample_max_stack = UINT16_MAX;
	return attr;
}

static void find_first(unsigned int cpu, void *context)
{
	int *first = context;

	if (*first < 0)
		*first = cpu;
}

/* It is asked for all tasks, as root, who may have those of a CPU that is online. */
static int offline_cpu(struct call *call)
{
	char list[256] = "";
	int offline = -1;

	pm_read_text("/sys/devices/system/cpu/offline", list, sizeof(list));
	if (!list[0] || pm_cpulist_each(list, find_first, &offline) < 0 || offline < 0)
		say_absent("all CPUs are online");
	close(must_open(&call->attr, -1, move_to_nth_cpu(0), -1, 0));
	call->pid = -1;
	return offline;
}

/* The size is negotiated unless it is the mistake. */
static int make_call(struct call *call)
{
	if (call->where || call->attr.size == 32)
		return pm_open_raw(call->where ? call->where : &call->attr, call->pid, call->cpu,
				   -1, 0);
	return pm_open(&call->attr, call->pid, call->cpu, -1, 0);
}

#define ASK(name, error, what, since, make)                                                    \
	TEST(name)                                                                             \
	{                                                                                      \
		struct call call = { must_open_plain(), NULL, 0, -1 };                         \
		make;                                                                          \
		expect_refused(make_call(&call), error, BROKEN, what);                         \
	}
MISTAKES(ASK)

PROBE_MAIN
