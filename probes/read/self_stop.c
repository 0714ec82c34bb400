/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does measuring oneself cost? A task that enables, does something and disables must see its
 * workload, and always the same share of its own measuring.
 * Observed: exact page faults over many short intervals; for instructions, what an empty interval
 * counts, and that a longer workload counts for more.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("a task that measures itself")
      SINCE("2.6.31")
      POINT(faults, "fifty intervals of 3 faults are 150 faults, and nothing between them")
      POINT(instructions, "an empty interval counts much less than a loop, each time")
      NEEDS("pmu")
      FACT(empty_min, int, "instructions", "smallest count of an empty interval")
      FACT(empty_max, int, "instructions", "largest count of an empty interval"))

static void interval(int fd, int loops)
{
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (volatile int i = 0; i < loops; i++)
		;
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

TEST(faults)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t value;

	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < 50; i++) {
		must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		ASSERT_EQ(0, cause_faults(3));
		must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		ASSERT_EQ(0, cause_faults(2));
	}
	value = must_count(fd);
	if (value != 150)
		say_broken("counted=%" PRIu64 " want=150", value);
}

TEST(instructions)
{
	const struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t empty, least = UINT64_MAX, most = 0, loop;
	int fd;

	must_have_counters();
	fd = must_open(&attr, 0, -1, -1, 0);
	interval(fd, 0);
	for (int i = 0; i < 20; i++) {
		must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		interval(fd, 0);
		empty = must_count(fd);
		least = empty < least ? empty : least;
		most = empty > most ? empty : most;
	}
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	interval(fd, 100000);
	loop = must_count(fd);
	if (!loop)
		must_have_run();
	fact_int("empty_min", least);
	fact_int("empty_max", most);
	if (!loop || loop < 100000 || least > loop / 10)
		say_broken("empty=%" PRIu64 " to %" PRIu64 ", loop of 100000=%" PRIu64, least, most,
			   loop);
}

PROBE_MAIN
