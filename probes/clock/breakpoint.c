/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which clocks may stamp a breakpoint's records? It may hit in an NMI, where not every clock can be
 * read.
 * Observed: a watched variable is written between two readings of the clock.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("clocks of breakpoints")
      SINCE("4.1")
      COMMIT("34f439278cef")
      POINT(breakpoint_realtime, "a breakpoint, which may hit in an NMI, refuses CLOCK_REALTIME")
      POINT(breakpoint_monotonic, "a breakpoint takes CLOCK_MONOTONIC and stamps by it"))

static volatile uint64_t watched;

static struct perf_event_attr attr_breakpoint(int clock)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, 4);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TIME;
	attr.use_clockid = 1;
	attr.clockid = clock;
	return attr;
}

TEST(breakpoint_realtime)
{
	struct perf_event_attr attr = attr_breakpoint(CLOCK_MONOTONIC), without = attr;

	require(REQUIRE_BREAKPOINT);
	without.use_clockid = without.clockid = 0;
	close(ask_open(&attr, &without, 0, -1, "use_clockid"));
	attr.clockid = CLOCK_REALTIME;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		       "a breakpoint by CLOCK_REALTIME");
}

TEST(breakpoint_monotonic)
{
	struct perf_event_attr attr = attr_breakpoint(CLOCK_MONOTONIC), without = attr;
	struct pm_record record;
	struct sampler sampler;

	require(REQUIRE_BREAKPOINT);
	without.use_clockid = without.clockid = 0;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 2, "use_clockid");
	for (int i = 0; i < 20; i++) {
		uint64_t before = now_ns(), after;

		watched = i;
		after = now_ns();
		if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of write %d", i);
		if (record.sample.sid.time < before || record.sample.sid.time > after)
			say_broken("stamp=%" PRIu64 " not within %" PRIu64 "..%" PRIu64,
				   record.sample.sid.time, before, after);
	}
}

PROBE_MAIN
