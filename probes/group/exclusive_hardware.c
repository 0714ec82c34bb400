/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an exclusive hardware event have the counters for itself? That is what attr.exclusive
 * promises to those who use counters that disturb each other.
 * Observed: the running times of an exclusive event and of another one never add up to more than
 * the time both were enabled.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("exclusive hardware events")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(alone, "an exclusive hardware event never runs together with another"))

#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

TEST(alone)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_counts plain, exclusive;
	int fds[2];

	must_have_counters();
	attr.read_format = FORMAT;
	fds[0] = must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = 1;
	fds[1] = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(fds[1], PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(40000000);
	must_ioctl(fds[1], PERF_EVENT_IOC_DISABLE, 0);
	must_ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(fds[0], FORMAT, &plain));
	ASSERT_EQ(0, pm_read_counts(fds[1], FORMAT, &exclusive));
	if (!plain.time_running && !exclusive.time_running)
		say_unknown("neither event ever ran");
	if (plain.time_running + exclusive.time_running > plain.time_enabled)
		say_broken("plain ran %" PRIu64 " ns and exclusive %" PRIu64 " ns of %" PRIu64,
			   plain.time_running, exclusive.time_running, plain.time_enabled);
}

PROBE_MAIN
