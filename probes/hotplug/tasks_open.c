/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a task's events be opened for a CPU that is not there, and do new threads inherit for one
 * that came back? Then a profiler need not watch CPUs at all.
 * Observed: page faults on the CPU after it came back.
 */
#include "probe.h"
#include "hotplug.h"

PROBE(TITLE("a task's events opened around hotplug")
      SINCE("2.6.31")
      DISTURBS("CPU hotplug")
      NEEDS("cpu2")
      NEEDS("hotplug")
      POINT(opened_offline, "a task's event on an offline CPU opens, and counts when it is back")
      POINT(enabled_offline, "a task's event is enabled and reads 0 while its CPU is offline, and "
	    "counts when the CPU is back")
      POINT(new_thread, "a thread started after the CPU came back is counted there by inherit")
      POINT(possible_cpus, "a task's event opens for every possible CPU, online or not"))

TEST(opened_offline)
{
	uint64_t after;
	int fd;

	require_hotplug();
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(false);
	fd = open_faults(target);
	must_switch(true);
	after = count_ten(fd, target_nth);
	if (after != 10)
		say_broken("after=%" PRIu64 " want=10", after);
}

TEST(enabled_offline)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t there, after;
	int fd, twin;

	require_hotplug();
	ASSERT_LE(0, move_to_nth_cpu(0));
	fd = must_open(&attr, 0, target, -1, 0);
	must_switch(false);
	twin = must_open(&attr, 0, target, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(twin, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(10));
	there = must_count(fd) + must_count(twin);
	must_switch(true);
	after = count_ten(fd, target_nth);
	if (there || after != 10)
		say_broken("counted=%" PRIu64 " while its CPU was offline, %" PRIu64
			   " of 10 when it was back", there, after);
	expect_gain(twin, NULL, 10, 10);
}

static void *fault_there(void *unused)
{
	move_to_nth_cpu(target_nth);
	cause_faults(10);
	return unused;
}

TEST(new_thread)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before;
	int fd;

	require_hotplug();
	attr.inherit = 1;
	attr.disabled = 0;
	fd = must_open(&attr, 0, target, -1, 0);
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(false);
	must_switch(true);
	before = must_count(fd);
	ASSERT_EQ(0, run_in_thread(fault_there, NULL));
	if (must_count(fd) - before < 10)
		say_broken("a new thread's faults=%" PRIu64 " want>=10", must_count(fd) - before);
}

TEST(possible_cpus)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int possible = probe_env()->cpus_possible;

	require_hotplug();
	must_switch(false);
	for (int cpu = 0; cpu < possible; cpu++) {
		int fd = pm_open(&attr, 0, cpu, -1, 0);

		if (fd < 0)
			say_broken("CPU %d of %d: %s", cpu, possible, pm_errno_name(fd));
		close(fd);
	}
	must_switch(true);
}

PROBE_MAIN
