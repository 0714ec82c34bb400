/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ENABLE, DISABLE, RESET: do they do what their names say, at once, from this process or another,
 * on a living task or a dead one?
 * Observed: exact numbers of page faults before and after each.
 */
#include "probe.h"

PROBE(TITLE("starting, stopping, clearing")
      SINCE("2.6.31")
      POINT(enable, "nothing is counted before ENABLE, everything after it")
      POINT(disable, "nothing is counted after DISABLE")
      POINT(reset, "RESET makes the count 0 and counting goes on")
      POINT(by_another_process, "a child that inherited the descriptor can DISABLE the event")
      POINT(dead_task, "on a task that has ended ENABLE, DISABLE and RESET succeed"))

static int open_faults(int group)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = group < 0;
	return must_open(&attr, 0, -1, group, 0);
}

TEST(enable)
{
	int fd = open_faults(-1);

	expect_gain(fd, NULL, 10, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 10, 10);
}

TEST(disable)
{
	int fd = open_faults(-1);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 10, 10);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_gain(fd, NULL, 10, 0);
}

TEST(reset)
{
	int fd = open_faults(-1);
	uint64_t cleared;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 10, 10);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	cleared = must_count(fd);
	if (cleared)
		say_broken("after RESET: count=%" PRIu64, cleared);
	expect_gain(fd, NULL, 10, 10);
}

static int disable_it(void *fd)
{
	return pm_ioctl(*(int *)fd, PERF_EVENT_IOC_DISABLE, 0) ? 1 : 0;
}

TEST(by_another_process)
{
	int fd = open_faults(-1);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 10, 10);
	ASSERT_EQ(0, wait_child(start_child(disable_it, &fd)));
	expect_gain(fd, NULL, 10, 0);
}

TEST(dead_task)
{
	static const unsigned long requests[] = { PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
						  PERF_EVENT_IOC_RESET };
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct worker worker;
	int fd;

	must_start_worker(&worker, WORKER_CHILD);
	fd = must_open(&attr, worker.tid, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, worker_faults(&worker, 10));
	worker_stop(&worker);
	if (must_count(fd) < 10)
		say_broken("the task counted %" PRIu64 " before it ended", must_count(fd));
	for (int i = 0; i < 3; i++) {
		int answer = pm_ioctl(fd, requests[i], 0);

		if (answer)
			say_broken("request %#lx: %s", requests[i], pm_errno_name(answer));
	}
	if (must_count(fd))
		say_broken("count=%" PRIu64 " after RESET", must_count(fd));
}

PROBE_MAIN
