/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does every documented errno of perf_event_open come from the mistake that it stands for?
 *
 * Programs choose their way back by the errno: another one sends them a wrong way. Each test
 * makes one mistake in a call that is right otherwise, and opens the right call first. The order
 * of checks is asked in perm.order, rules of single fields in attr.exclusions.
 */
#include "probe.h"

#include <sys/wait.h>

PROBE(TITLE("the errnos of perf_event_open")
      SINCE("2.6.31")
      POINT(e2big_size, "E2BIG: an attr smaller than the first version")
      POINT(ebadf_group, "EBADF: a group descriptor that is not open")
      POINT(ebadf_no_event, "EBADF: a group descriptor that is no event")
      POINT(efault, "EFAULT: a bad pointer")
      POINT(einval_nobody_nowhere, "EINVAL: no task and no CPU")
      POINT(einval_cpu_beyond, "EINVAL: a CPU number beyond all")
      POINT(einval_cpu_negative, "EINVAL: the CPU number -2")
      POINT(einval_frequency, "EINVAL: a frequency beyond the limit")
      POINT(einval_group_cpu, "EINVAL: a member on another CPU than its leader")
      SINCE("4.0")
      COMMIT("c3c87e770458")
      POINT(einval_group_of_member, "EINVAL: a member as a leader")
      POINT(einval_pinned_member, "EINVAL: a pinned member")
      POINT(einval_exclusive_member, "EINVAL: an exclusive member")
      POINT(einval_inherit_mix, "EINVAL: a member that inherits, of a leader that does not")
      POINT(enoent, "ENOENT: a type that no PMU has")
      POINT(enodev_offline, "ENODEV: a CPU that is offline")
      NEEDS("root")
      POINT(eopnotsupp, "EOPNOTSUPP: branch records of a software event")
      SINCE("3.4")
      POINT(eoverflow, "EOVERFLOW: a call chain deeper than the limit")
      SINCE("4.8")
      POINT(esrch_never, "ESRCH: a task that never was")
      POINT(esrch_zombie, "ESRCH: a task that has exited and is not yet waited for"))

static struct perf_event_attr right(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	return attr;
}

static void wrong(struct __test_metadata *_metadata, int answer, int want, const char *what)
{
	hold_rule(answer, want, BROKEN, what);
}

TEST(e2big_size)
{
	struct perf_event_attr attr = right(_metadata);

	attr.size = 32;
	wrong(_metadata, pm_open_raw(&attr, 0, -1, -1, 0), E2BIG, "an attr of 32 bytes");
}

TEST(ebadf_group)
{
	struct perf_event_attr attr = right(_metadata);

	wrong(_metadata, pm_open(&attr, 0, -1, 1000000, 0), EBADF, "a group that is not open");
}

TEST(ebadf_no_event)
{
	struct perf_event_attr attr = right(_metadata);
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	wrong(_metadata, pm_open(&attr, 0, -1, ends[0], 0), EBADF, "a pipe as a group");
}

TEST(efault)
{
	right(_metadata);
	wrong(_metadata, pm_open_raw((void *)8, 0, -1, -1, 0), EFAULT, "a pointer to 8");
}

TEST(einval_nobody_nowhere)
{
	struct perf_event_attr attr = right(_metadata);

	wrong(_metadata, pm_open(&attr, -1, -1, -1, 0), EINVAL, "no task and no CPU");
}

TEST(einval_cpu_beyond)
{
	struct perf_event_attr attr = right(_metadata);

	wrong(_metadata, pm_open(&attr, 0, 1000000, -1, 0), EINVAL, "CPU 1000000");
}

TEST(einval_cpu_negative)
{
	struct perf_event_attr attr = right(_metadata);

	wrong(_metadata, pm_open(&attr, 0, -2, -1, 0), EINVAL, "CPU -2");
}

TEST(einval_frequency)
{
	struct perf_event_attr attr = right(_metadata);

	attr.freq = 1;
	attr.sample_freq = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_freq = 1ull << 40;
	wrong(_metadata, pm_open(&attr, 0, -1, -1, 0), EINVAL, "a frequency of 2^40");
}

TEST(einval_group_cpu)
{
	struct perf_event_attr attr = right(_metadata);
	int leader = must_open(&attr, 0, -1, -1, 0);

	close(must_open(&attr, 0, -1, leader, 0));
	hold_rule(pm_open(&attr, 0, move_to_nth_cpu(0), leader, 0), EINVAL, NO,
		  "a member on one CPU of a leader on any");
}

TEST(einval_group_of_member)
{
	struct perf_event_attr attr = right(_metadata);
	int leader = must_open(&attr, 0, -1, -1, 0);
	int member = must_open(&attr, 0, -1, leader, 0);

	wrong(_metadata, pm_open(&attr, 0, -1, member, 0), EINVAL, "a member as a leader");
}

TEST(einval_pinned_member)
{
	struct perf_event_attr attr = right(_metadata);
	int leader = must_open(&attr, 0, -1, -1, 0);

	attr.pinned = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	wrong(_metadata, pm_open(&attr, 0, -1, leader, 0), EINVAL, "a pinned member");
}

TEST(einval_exclusive_member)
{
	struct perf_event_attr attr = right(_metadata);
	int leader = must_open(&attr, 0, -1, -1, 0);

	attr.exclusive = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	wrong(_metadata, pm_open(&attr, 0, -1, leader, 0), EINVAL, "an exclusive member");
}

TEST(einval_inherit_mix)
{
	struct perf_event_attr attr = right(_metadata);
	int leader = must_open(&attr, 0, -1, -1, 0);

	attr.inherit = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	hold_rule(pm_open(&attr, 0, -1, leader, 0), EINVAL, NO, "a member that inherits");
}

TEST(enoent)
{
	struct perf_event_attr attr = right(_metadata);

	attr.type = 0x7fffff00;
	wrong(_metadata, pm_open(&attr, 0, -1, -1, 0), ENOENT, "type 0x7fffff00");
}

static void find_first(unsigned int cpu, void *context)
{
	int *first = context;

	if (*first < 0)
		*first = cpu;
}

TEST(enodev_offline)
{
	struct perf_event_attr attr = right(_metadata);
	char list[256] = "";
	int offline = -1;

	pm_read_text("/sys/devices/system/cpu/offline", list, sizeof(list));
	if (!list[0] || pm_cpulist_each(list, find_first, &offline) < 0 || offline < 0)
		say_absent("all CPUs are online");
	close(must_open(&attr, -1, move_to_nth_cpu(0), -1, 0));
	wrong(_metadata, pm_open(&attr, -1, offline, -1, 0), ENODEV, "a CPU that is offline");
}

TEST(eopnotsupp)
{
	struct perf_event_attr attr = right(_metadata);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	wrong(_metadata, pm_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, "branches of page faults");
}

TEST(eoverflow)
{
	struct perf_event_attr attr = right(_metadata);
	int64_t limit;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	if (pm_read_number("/proc/sys/kernel/perf_event_max_stack", &limit) < 0)
		say_absent("perf_event_max_stack is not there");
	if (limit >= UINT16_MAX)
		say_absent("the limit is as large as the field");
	attr.sample_max_stack = UINT16_MAX;
	wrong(_metadata, pm_open(&attr, 0, -1, -1, 0), EOVERFLOW, "65535 frames");
}

TEST(esrch_never)
{
	struct perf_event_attr attr = right(_metadata);

	wrong(_metadata, pm_open(&attr, 0x3fffffff, -1, -1, 0), ESRCH, "a task that never was");
}

static int leave(void *unused)
{
	(void)unused;
	return 0;
}

/* waitid(2) with WNOWAIT sees the exit and leaves the zombie. */
TEST(esrch_zombie)
{
	struct perf_event_attr attr = right(_metadata);
	pid_t child = start_child(leave, NULL);
	siginfo_t info;

	ASSERT_GT(child, 0);
	ASSERT_EQ(0, waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	wrong(_metadata, pm_open(&attr, child, -1, -1, 0), ESRCH, "a task that has exited");
}

PROBE_MAIN
