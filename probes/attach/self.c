/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plainest way to attach: a thread watches itself, on every CPU or on one. Every profiler that
 * needs no privilege starts here. Observed: exact page faults on the right and on the wrong CPU;
 * and the one combination of arguments that means nothing, pid -1 with CPU -1.
 */
#include "probe.h"

PROBE(TITLE("a thread watches itself")
      SINCE("2.6.31")
      POINT(any_cpu, "pid 0, cpu -1: 16 faults are 16 counts")
      POINT(own_tid, "pid = own thread id, cpu -1: the same as pid 0")
      POINT(one_cpu, "pid 0, cpu N: counts while on N, and nothing while elsewhere")
      NEEDS("cpu2")
      POINT(back_on_cpu, "pid 0, cpu N: counts again after the way back to N")
      NEEDS("cpu2")
      POINT(nothing_at_all, "pid -1, cpu -1 is refused with EINVAL"))

static int open_running(pid_t pid, int cpu)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, pid, cpu, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

TEST(any_cpu)
{
	expect_gain(open_running(0, -1), NULL, 16, 16);
}

TEST(own_tid)
{
	expect_gain(open_running(pm_gettid(), -1), NULL, 16, 16);
}

TEST(one_cpu)
{
	uint64_t here, elsewhere;
	int fd;

	require(REQUIRE_CPU2);
	fd = open_running(0, move_to_nth_cpu(0));
	here = gain_of_faults(fd, NULL, 16);
	ASSERT_LE(0, move_to_nth_cpu(1));
	elsewhere = gain_of_faults(fd, NULL, 16);
	if (here != 16 || elsewhere != 0)
		say_broken("on the CPU=%" PRIu64 " want=16, elsewhere=%" PRIu64 " want=0", here,
			   elsewhere);
}

TEST(back_on_cpu)
{
	int fd;

	require(REQUIRE_CPU2);
	fd = open_running(0, move_to_nth_cpu(0));
	ASSERT_LE(0, move_to_nth_cpu(1));
	ASSERT_EQ(0, cause_faults(16));
	ASSERT_LE(0, move_to_nth_cpu(0));
	expect_gain(fd, NULL, 16, 16);
}

TEST(nothing_at_all)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	expect_refused(pm_open(&attr, -1, -1, -1, 0), EINVAL, BROKEN, "pid -1 with cpu -1");
}

PROBE_MAIN
