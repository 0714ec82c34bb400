/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events do PR_TASK_PERF_EVENTS_DISABLE and _ENABLE stop and start? The name says the task's;
 * it is those that the calling thread has opened, wherever they are attached.
 * Observed: exact page faults on events opened here and attached to this thread and to a child.
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("prctl on a task's own events")
      SINCE("2.6.31")
      POINT(disable, "PR_TASK_PERF_EVENTS_DISABLE stops the events of this thread, which keep "
	    "their counts")
      POINT(enable, "PR_TASK_PERF_EVENTS_ENABLE has them go on")
      POINT(opened_on_child, "PR_TASK_PERF_EVENTS_DISABLE stops the caller's event on a child"))

static int open_on(pid_t pid)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return must_open(&attr, pid, -1, -1, 0);
}

TEST(disable)
{
	int fd = open_on(0);
	uint64_t before;

	expect_gain(fd, NULL, 10, 10);
	before = must_count(fd);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	if (must_count(fd) < before)
		say_broken("count=%" PRIu64 ", and %" PRIu64 " before it was stopped",
			   must_count(fd), before);
	expect_gain(fd, NULL, 10, 0);
}

TEST(enable)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);

	expect_gain(fd, NULL, 10, 0);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE));
	expect_gain(fd, NULL, 10, 10);
}

TEST(opened_on_child)
{
	struct worker child;
	int fd;

	must_start_worker(&child, WORKER_CHILD);
	fd = open_on(child.tid);
	if (gain_of_faults(fd, &child, 10) < 10)
		say_broken("the child's faults are not counted even before");
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	expect_gain(fd, &child, 10, 0);
}

PROBE_MAIN
