/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the kernel answer to a CPU number that is invalid? A tool that trusts a wrong CPU list
 * must be told.
 * Observed: EINVAL for a number beyond all possible CPUs and for -2, for a task and for all tasks,
 * before any question of permission.
 */
#include "probe.h"

PROBE(TITLE("a CPU that is not there")
      SINCE("2.6.31")
      POINT(beyond_for_task, "EINVAL: pid 0 on a CPU that the kernel has no room for")
      POINT(beyond_for_all, "EINVAL: pid -1 on a CPU that the kernel has no room for")
      POINT(negative_for_task, "EINVAL: pid 0 on cpu -2")
      POINT(negative_for_all, "EINVAL: pid -1 on cpu -2"))

static void refuse(pid_t pid, int cpu, const char *what)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	expect_refused(pm_open(&attr, pid, cpu, -1, 0), EINVAL, BROKEN, what);
}

TEST(beyond_for_task)
{
	refuse(0, 1 << 20, "pid 0, cpu 1048576");
}

TEST(beyond_for_all)
{
	refuse(-1, 1 << 20, "pid -1, cpu 1048576");
}

TEST(negative_for_task)
{
	refuse(0, -2, "pid 0, cpu -2");
}

TEST(negative_for_all)
{
	refuse(-1, -2, "pid -1, cpu -2");
}

PROBE_MAIN
