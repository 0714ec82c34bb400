/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are the limits in /proc/sys/kernel kept: sample rate and call chain depth?
 * Observed: one step below is taken, one step above refused with the documented errno.
 */
#include "probe.h"

PROBE(TITLE("limits of an attr")
      SINCE("2.6.31")
      POINT(rate, "a frequency above perf_event_max_sample_rate is EINVAL, one within it is taken")
      POINT(max_stack, "sample_max_stack above perf_event_max_stack is EOVERFLOW")
      SINCE("4.8")
      POINT(max_stack_taken, "sample_max_stack of perf_event_max_stack is taken and samples")
      SINCE("4.8")
      POINT(nmi_watchdog, "a pinned counter runs, whether or not the NMI watchdog has one")
      NEEDS("pmu")
      FACT(max_sample_rate, int, "Hz", "perf_event_max_sample_rate, which sinks under load")
      FACT(max_stack_frames, int, "frames", "perf_event_max_stack"))

TEST(rate)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);
	const int64_t limit = probe_env()->max_sample_rate;

	if (limit < 1)
		say_absent("perf_event_max_sample_rate is not readable");
	fact_int("max_sample_rate", limit);
	attr.freq = 1;
	attr.sample_freq = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_freq = 2 * limit;	/* it sinks by itself and may be raised by root */
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "twice the highest frequency");
}

static struct perf_event_attr attr_depth(struct __test_metadata *_metadata, int more)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CALLCHAIN);
	int64_t limit;

	attr.exclude_callchain_kernel = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	if (pm_read_number("/proc/sys/kernel/perf_event_max_stack", &limit))
		say_no("no perf_event_max_stack, and so no sample_max_stack");
	fact_int("max_stack_frames", limit);
	attr.sample_max_stack = limit + more;
	return attr;
}

TEST(max_stack)
{
	struct perf_event_attr attr = attr_depth(_metadata, 1);

	hold_rule(pm_open(&attr, 0, -1, -1, 0), EOVERFLOW, BROKEN, "a deeper chain than allowed");
}

TEST(max_stack_taken)
{
	struct perf_event_attr attr = attr_depth(_metadata, 0), without = attr;
	struct pm_record record;
	struct watch watch;

	without.sample_max_stack = 0;
	watch = ask_watch(&attr, &without, 0, -1, 2, "sample_max_stack");
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!seek(&watch, PERF_RECORD_SAMPLE, &record) || record.sample.callchain_nr < 2)
		broken("no sample with a call chain");
}

TEST(nmi_watchdog)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_counts counts;
	int64_t watchdog = 0;
	int leader;

	require(REQUIRE_CPU_PMU);
	attr.pinned = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	pm_read_number("/proc/sys/kernel/nmi_watchdog", &watchdog);
	leader = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(2000000);
	if (pm_read_counts(leader, attr.read_format, &counts))
		broken("one pinned counter does not fit (nmi_watchdog=%" PRId64 ")", watchdog);
	if (!counts.time_running)
		broken("one pinned counter never runs (nmi_watchdog=%" PRId64 ")", watchdog);
}

PROBE_MAIN
