/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far apart are the default clocks of different CPUs? Each CPU keeps its own; merging rings
 * of several CPUs needs to know by how much.
 * Observed: pinned to each CPU in turn, page faults bracketed by CLOCK_MONOTONIC; a second round
 * gives the drift.
 */
#include "probe.h"
#include "stamps.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("the default clock of each CPU")
      SINCE("2.6.31")
      NEEDS("cpu2")
      POINT(measured, "each CPU's offset to CLOCK_MONOTONIC is known to better than 1 ms")
      POINT(same, "all CPUs agree within 1 ms beyond what the measurement leaves open")
      FACT(offsets, string, "ns", "CPU:offset+-half_width of up to 16 CPUs, to CLOCK_MONOTONIC")
      FACT(skew, int, "ns", "largest difference of two CPUs' offsets")
      FACT(skew_half_width, int, "ns", "uncertainty of that")
      FACT(drift, int, "ppb", "how fast the offset of the first CPU changes")
      FACT(drift_half_width, int, "ppb", "uncertainty of that"))

#define MAX_CPUS 16

static struct pm_clock_offset measure(struct sampler *sampler)
{
	struct pm_clock_bracket brackets[30];
	struct pm_clock_offset ret = { 0 };

	for (int round = 0; round < 20; round++) {
		stamp_faults(sampler, CLOCK_MONOTONIC, brackets, 30);
		ASSERT_EQ(0, pm_clock_offset(brackets, 30, &ret));
		if (ret.half_width < 1000000)
			break;
	}
	return ret;
}

static int measure_all(struct pm_clock_offset *offsets, int *cpus)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);
	struct sampler sampler = must_sampler(&attr, 0, -1, 2);
	int count = count_cpus() < MAX_CPUS ? count_cpus() : MAX_CPUS;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < count; i++) {
		cpus[i] = move_to_nth_cpu(i);
		ASSERT_LE(0, cpus[i]);
		offsets[i] = measure(&sampler);
		if (offsets[i].half_width >= 1000000)
			say_unknown("CPU %d: tightest bracket is %" PRIu64 " ns wide", cpus[i],
				    2 * offsets[i].half_width);
	}
	return count;
}

TEST(measured)
{
	struct pm_clock_offset offsets[MAX_CPUS];
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);
	int cpus[MAX_CPUS], count;
	struct pm_clock_offset again;
	struct sampler sampler;
	uint64_t begin = now_ns(), elapsed;
	char text[640] = "";

	require(REQUIRE_CPU2);
	count = measure_all(offsets, cpus);
	for (int i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%d:%" PRId64 "+-%" PRIu64, i ? " " : "", cpus[i], offsets[i].offset,
			 offsets[i].half_width);
	fact_str("offsets", "%s", text);
	sampler = must_run_sampler(&attr, 0, -1, 2);
	ASSERT_LE(0, move_to_nth_cpu(0));
	spin_ns(20000000);
	again = measure(&sampler);
	elapsed = now_ns() - begin;
	fact_int("drift", (again.offset - offsets[0].offset) * 1000000000 / (int64_t)elapsed);
	fact_int("drift_half_width",
		 (again.half_width + offsets[0].half_width) * 1000000000 / elapsed);
}

TEST(same)
{
	struct pm_clock_offset offsets[MAX_CPUS];
	int cpus[MAX_CPUS], count, low = 0, high = 0;
	uint64_t skew = 0, open = 0;

	require(REQUIRE_CPU2);
	for (int round = 0; round < 3; round++) {
		count = measure_all(offsets, cpus);
		low = high = 0;
		for (int i = 0; i < count; i++) {
			low = offsets[i].offset < offsets[low].offset ? i : low;
			high = offsets[i].offset > offsets[high].offset ? i : high;
		}
		skew = offsets[high].offset - offsets[low].offset;
		open = offsets[high].half_width + offsets[low].half_width;
		if (skew <= open + 1000000)
			break;
	}
	fact_int("skew", skew);
	fact_int("skew_half_width", open);
	if (skew > open + 1000000)
		say_no("CPU %d is %" PRIu64 "+-%" PRIu64 " ns ahead of CPU %d", cpus[high], skew,
		       open, cpus[low]);
}

PROBE_MAIN
