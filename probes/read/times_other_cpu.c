/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the times of an event of task and CPU run while the task is on another CPU? Per-CPU tools add
 * up the times of such events over all CPUs.
 * Observed: times and exact counts on the event's CPU, and on another one.
 */
#include "probe.h"
#include "timed.h"

PROBE(TITLE("times of an event of task and CPU")
      SINCE("2.6.31")
      POINT(other_cpu, "an event of task and CPU does not run while the task is on another CPU")
      NEEDS("cpu2")
      FACT(enabled_on_other_cpu, bool, "-",
      	   "time_enabled advances while the task is on another CPU"))

#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

TEST(other_cpu)
{
	struct perf_event_attr attr = attr_counter(false);
	struct pm_counts before, after;
	int fd, cpu;

	require(REQUIRE_PERF | REQUIRE_CPU2);
	cpu = move_to_nth_cpu(0);
	ASSERT_LE(0, cpu);
	attr.read_format = FORMAT;
	fd = must_open(&attr, 0, cpu, -1, 0);
	ASSERT_EQ(0, cause_faults(7));
	spin_until_timed(fd, NULL);
	ASSERT_LE(0, move_to_nth_cpu(1));
	before = must_counts(fd, FORMAT);
	spin_ns(2000000);
	ASSERT_EQ(0, cause_faults(7));
	after = must_counts(fd, FORMAT);
	fact_bool("enabled_on_other_cpu", after.time_enabled != before.time_enabled);
	if (after.time_running != before.time_running || !before.time_running)
		say_broken("running=%" PRIu64 ", +%" PRIu64 " ns on the other CPU",
			   before.time_running, after.time_running - before.time_running);
	if (before.member[0].value < 7 || after.member[0].value != before.member[0].value)
		say_broken("counted=%" PRIu64 " here, %" PRIu64 " more on the other CPU",
			   before.member[0].value, after.member[0].value - before.member[0].value);
}

PROBE_MAIN
