/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which clock do time stamps use when none is chosen, and how far is it from the clocks that
 * programs read? The default clock is the scheduler's, kept per CPU, and not documented further.
 * Observed: a page fault bracketed by readings of each clock, the tightest of 30 brackets.
 */
#include "probe.h"
#include "stamps.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("the default clock")
      SINCE("2.6.31")
      POINT(ticks, "the default clock advances as fast as CLOCK_MONOTONIC, within 1 %")
      POINT(offset, "the default clock's offset to CLOCK_MONOTONIC is known to 1 ms or better")
      FACT(near, enum, "-", "clock it is nearest to: monotonic, monotonic_raw, boottime, none")
      FACT(monotonic_offset, int, "ns", "default clock minus CLOCK_MONOTONIC")
      FACT(monotonic_half_width, int, "ns", "uncertainty of that")
      FACT(monotonic_raw_offset, int, "ns", "default clock minus CLOCK_MONOTONIC_RAW")
      FACT(monotonic_raw_half_width, int, "ns", "uncertainty of that")
      FACT(boottime_offset, int, "ns", "default clock minus CLOCK_BOOTTIME")
      FACT(boottime_half_width, int, "ns", "uncertainty of that")
      FACT(suspended, int, "ns", "time this machine was suspended: BOOTTIME minus MONOTONIC")
      FACT(counts_suspend, enum, "-",
	   "whether the default clock includes suspended time: yes, no, never_suspended"))

static struct pm_clock_offset measure(struct sampler *sampler, int clock, int tries)
{
	struct pm_clock_bracket brackets[30];
	struct pm_clock_offset ret = { 0 };

	stamp_faults(sampler, clock, brackets, tries);
	ASSERT_EQ(0, pm_clock_offset(brackets, tries, &ret));
	return ret;
}

static struct sampler watch_times(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);
	struct sampler sampler = must_sampler(&attr, 0, -1, 2);

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
}

TEST(offset)
{
	static const struct { int clock; const char *name; } clocks[] = {
		{ CLOCK_MONOTONIC, "monotonic" },
		{ CLOCK_MONOTONIC_RAW, "monotonic_raw" },
		{ CLOCK_BOOTTIME, "boottime" },
	};
	struct sampler sampler = watch_times();
	struct pm_clock_offset offsets[3];
	uint64_t boot = 0, monotonic = 0;
	int near = 0;

	for (int i = 0; i < 3; i++) {
		char name[64];

		offsets[i] = measure(&sampler, clocks[i].clock, 30);
		snprintf(name, sizeof(name), "%s_offset", clocks[i].name);
		fact_int(name, offsets[i].offset);
		snprintf(name, sizeof(name), "%s_half_width", clocks[i].name);
		fact_int(name, offsets[i].half_width);
		if (llabs(offsets[i].offset) + 1000000 < llabs(offsets[near].offset))
			near = i;
	}
	fact_str("near", "%s",
		 llabs(offsets[near].offset) < 1000000000 ? clocks[near].name : "none");
	pm_clock_ns(CLOCK_MONOTONIC, &monotonic);
	pm_clock_ns(CLOCK_BOOTTIME, &boot);
	fact_int("suspended", boot - monotonic);
	fact_str("counts_suspend", "%s", boot - monotonic < 10000000 ? "never_suspended" :
		 llabs(offsets[2].offset) < llabs(offsets[0].offset) ? "yes" : "no");
	for (int more = 0; more < 20 && offsets[0].half_width > 1000000; more++)
		offsets[0] = measure(&sampler, CLOCK_MONOTONIC, 30);
	if (offsets[0].half_width > 1000000)
		say_unknown("tightest bracket is %" PRIu64 " ns wide", 2 * offsets[0].half_width);
}

TEST(ticks)
{
	struct sampler sampler = watch_times();
	struct pm_clock_offset first, last;
	uint64_t begin = now_ns(), elapsed, moved;

	ASSERT_LE(0, move_to_nth_cpu(0));
	first = measure(&sampler, CLOCK_MONOTONIC, 30);
	/*
	 * The longer it takes to get a tight bracket, the longer the span gets that it is for. And
	 * where the TSC is unstable the clock may jump by a part of a tick: speed shows in the end.
	 */
	do {
		spin_ns(10000000);
		last = measure(&sampler, CLOCK_MONOTONIC, 30);
		elapsed = now_ns() - begin;
		moved = llabs(last.offset - first.offset);
	} while ((first.half_width + last.half_width > elapsed / 200 &&
		  elapsed < 3000000000) ||
		 (moved > elapsed / 100 && elapsed < 500000000));
	if (first.half_width + last.half_width > elapsed / 200)
		say_unknown("brackets too wide: %" PRIu64 "+%" PRIu64 " ns in %" PRIu64,
			    first.half_width, last.half_width, elapsed);
	if (moved > elapsed / 100)
		say_broken("offset moved by %" PRId64 " ns in %" PRIu64 " ns",
			   last.offset - first.offset, elapsed);
}

PROBE_MAIN
