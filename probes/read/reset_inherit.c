/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_EVENT_IOC_RESET of an inherit event zero the counts of children, dead or alive?
 * Interval counting with one inherited event depends on it.
 * Observed: three tasks cause different numbers of page faults, so that what is left after RESET
 * tells whose counts were kept. An event that is not inherited stands beside, for else the kernel
 * may exchange the contexts of this task and a thread of it, and their counts with them.
 */
#include "probe.h"

PROBE(TITLE("RESET of an inherit event")
      SINCE("2.6.31")
      POINT(inherit, "RESET of an inherit event zeroes at least the task's own part")
      FACT(zeroes_living_child, bool, "-", "RESET of an inherit event clears a living child")
      FACT(zeroes_ended_child, bool, "-", "RESET of an inherit event clears an ended child"))

/* The ended thread, the living one and this task count 100, 400 and 1000 or a little more. */
TEST(inherit)
{
	const struct perf_event_attr attr = attr_counter(true), alone = attr_counter(false);
	struct worker living, ended;
	uint64_t before, after;
	int fd = must_open(&attr, 0, -1, -1, 0);

	must_open(&alone, 0, -1, -1, 0);
	must_start_worker(&living, WORKER_THREAD);
	must_start_worker(&ended, WORKER_THREAD);
	ASSERT_EQ(0, worker_faults(&ended, 100));
	ASSERT_EQ(0, worker_stop(&ended));
	ASSERT_EQ(0, worker_faults(&living, 400));
	ASSERT_EQ(0, cause_faults(1000));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	after = must_count(fd);
	fact_bool("zeroes_living_child", after < 400);
	fact_bool("zeroes_ended_child", after % 400 < 100);
	if (before < 1500 || after >= 1000)
		say_broken("before=%" PRIu64 " after=%" PRIu64, before, after);
}

PROBE_MAIN
