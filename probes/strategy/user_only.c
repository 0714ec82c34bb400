/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can a library count that may not look into the kernel? With exclude_kernel an event counts
 * only what is attributed to user mode: the entry of a system call is (tracepoint.count), a context
 * switch is not. A library that counts switches without privilege gets 0, and no error.
 * Observed: switches that getrusage(2) has seen. A counter of page faults in the same group shows
 * that the group runs.
 */
#include "probe.h"

PROBE(TITLE("kernel events counted in user mode only")
      SINCE("2.6.31")
      POINT(software_zero, "with exclude_kernel no context switch counts, while page faults do"))

TEST(software_zero)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	const struct perf_event_attr faults = attr_counter(false);
	int leader, all, fd;
	uint64_t counted, switches;

	leader = must_open(&faults, 0, -1, -1, 0);
	attr.disabled = 0;
	fd = must_open(&attr, 0, -1, leader, 0);
	attr.exclude_kernel = 0;
	all = pm_open(&attr, 0, -1, -1, 0);
	switches = cause_switches(5);
	counted = must_count(fd);
	if (switches < 5)
		say_unknown("%" PRIu64 " switches of a thread that slept 1000 times", switches);
	expect_gain(leader, NULL, 5, 5);
	if (all >= 0 && must_count(all) < 5)
		say_broken("%" PRIu64 " of %" PRIu64 " switches counted with the kernel included",
			   must_count(all), switches);
	if (counted)
		say_broken("%" PRIu64 " of %" PRIu64 " switches counted in spite of exclude_kernel",
			   counted, switches);
}

PROBE_MAIN
