/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the value that read(2) gives be relied on at any time: zero at first, monotone, still after
 * disabling, and there after the task has ended?
 * Observed: exact page-fault counts around each step.
 */
#include "probe.h"

PROBE(TITLE("values read while running, stopped and after the end")
      SINCE("2.6.31")
      POINT(starts_at_zero, "0 while disabled, whatever the task does")
      POINT(monotone, "never falls while the event counts")
      POINT(after_disable, "stays exactly the same after DISABLE, and goes on after ENABLE")
      POINT(dead_task, "the last value is readable after the task's end"))

TEST(starts_at_zero)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t value;

	ASSERT_EQ(0, cause_faults(7));
	value = must_count(fd);
	if (value)
		say_broken("counted=%" PRIu64 " while disabled", value);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 7, 7);
}

TEST(monotone)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t last = must_count(fd), value, first = last;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 500; i++) {
		ASSERT_EQ(0, cause_faults(1));
		value = must_count(fd);
		if (value < last)
			say_broken("read %" PRIu64 " after %" PRIu64, value, last);
		last = value;
	}
	if (last < first + 500)
		say_broken("counted=%" PRIu64 " want at least 500", last - first);
}

TEST(after_disable)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t stopped, later;

	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	stopped = must_count(fd);
	ASSERT_EQ(0, cause_faults(7));
	later = must_count(fd);
	if (later != stopped || stopped < 7)
		say_broken("at_disable=%" PRIu64 " later=%" PRIu64, stopped, later);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 7, 7);
}

TEST(dead_task)
{
	const struct perf_event_attr attr = attr_counter(false);
	struct worker child;
	uint64_t alive, dead;
	int fd;

	must_start_worker(&child, WORKER_CHILD);
	fd = must_open(&attr, child.tid, -1, -1, 0);
	expect_gain(fd, &child, 7, 7);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	alive = must_count(fd);
	ASSERT_EQ(0, worker_stop(&child));
	dead = must_count(fd);
	if (dead != alive)
		say_broken("alive=%" PRIu64 " dead=%" PRIu64, alive, dead);
}

PROBE_MAIN
