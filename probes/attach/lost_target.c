/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the kernel answer for a task that does not exist, or no longer does? A profiler that
 * walks /proc meets all of these. Observed: ESRCH for ids that were never in use and for zombies;
 * while a task is ending, the call neither hangs nor answers anything else.
 */
#include "probe.h"
#include <sys/wait.h>

PROBE(TITLE("a target that is gone")
      SINCE("2.6.31")
      POINT(never_was, "ESRCH for an id that no task has")
      POINT(negative, "ESRCH for pid -2")
      POINT(zombie, "ESRCH for a child that has ended and is not waited for")
      POINT(ending, "attaching to tasks that end just now gives an event or ESRCH, 40 times")
      FACT(caught, int, "opens", "opens that succeeded while 40 tasks were ending"))

static const struct perf_event_attr *faults(void)
{
	static struct perf_event_attr attr;

	attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	close(must_open(&attr, 0, -1, -1, 0));
	return &attr;
}

TEST(never_was)
{
	expect_refused(pm_open(faults(), INT32_MAX, -1, -1, 0), ESRCH, BROKEN, "no such task");
}

TEST(negative)
{
	expect_refused(pm_open(faults(), -2, -1, -1, 0), ESRCH, BROKEN, "pid -2");
}

static int end_at_once(void *unused)
{
	(void)unused;
	return 0;
}

TEST(zombie)
{
	const struct perf_event_attr *attr = faults();
	pid_t child = start_child(end_at_once, NULL);
	siginfo_t info;

	ASSERT_LT(0, child);
	ASSERT_EQ(0, waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	expect_refused(pm_open(attr, child, -1, -1, 0), ESRCH, BROKEN, "a zombie");
}

TEST(ending)
{
	const struct perf_event_attr *attr = faults();
	int fd, caught = 0;

	for (int i = 0; i < 40; i++) {
		pid_t child = start_child(end_at_once, NULL);
		const uint64_t end = now_ns() + 2000000000;

		ASSERT_LT(0, child);
		while ((fd = pm_open(attr, child, -1, -1, 0)) >= 0 && now_ns() < end) {
			close(fd);
			caught++;
		}
		if (fd != -ESRCH)
			say_broken("errno=%s want=ESRCH after %d opens",
				   pm_errno_name(fd < 0 ? fd : 0), caught);
		wait_child(child);
	}
	fact_int("caught", caught);
}

PROBE_MAIN
