/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * If two events with different clocks sample the same hit, is each sample stamped by its own
 * event's clock? A kernel that prepares the sample once and reuses it writes the first event's time
 * into both: a ring of CLOCK_MONOTONIC then has stamps of CLOCK_REALTIME, decades later, and the
 * first event may be of another program. Who orders records by time delivers all others before.
 * Observed: page faults with an event of each clock, between readings of both clocks.
 * Linux 34f439278cef ("perf: Add per event clockid support") (v4.1)
 */
#include "probe.h"
#include "stamps.h"

PROBE(TITLE("two clocks on one hit")
      SINCE("4.1")
      COMMIT("34f439278cef")
      POINT(faults_own_clock,
	    "of two events that sample one page fault, each stamps it by its own clock"))

static const int clocks[2] = { CLOCK_REALTIME, CLOCK_MONOTONIC };

static struct perf_event_attr with_clock(int clock)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_TIME);

	attr.use_clockid = 1;
	attr.clockid = clock;
	return attr;
}

static void watch(struct sampler *samplers)
{
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr with = with_clock(clocks[i]), without = with;

		without.use_clockid = without.clockid = 0;
		samplers[i] = ask_sampler(&with, &without, 0, -1, 2, "use_clockid");
	}
	for (int i = 0; i < 2; i++)
		must_ioctl(samplers[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* Each of the two has a sample of a page fault, stamped between two readings of its clock. */
static void expect_own_clocks(struct sampler *samplers)
{
	struct pm_clock_bracket brackets[2];
	struct pm_record record;

	/* The first readings of the clocks may cause page faults of their own. */
	for (int i = 0; i < 4; i++)
		brackets[i % 2].before = read_clock(clocks[i % 2]);
	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < 2; i++)
		while (find_record(&samplers[i], PERF_RECORD_SAMPLE, &record))
			;
	for (int i = 0; i < 2; i++)
		brackets[i].before = read_clock(clocks[i]);
	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < 2; i++)
		brackets[i].after = read_clock(clocks[i]);
	for (int i = 0; i < 2; i++) {
		if (!find_record(&samplers[i], PERF_RECORD_SAMPLE, &record))
			say_broken("no sample by clock %d", clocks[i]);
		if (record.sample.sid.time < brackets[i].before ||
		    record.sample.sid.time > brackets[i].after)
			say_broken("clock %d: stamp=%" PRIu64 " not in %" PRIu64 "..%" PRIu64,
				   clocks[i], record.sample.sid.time, brackets[i].before,
				   brackets[i].after);
	}
}

TEST(faults_own_clock)
{
	struct sampler samplers[2];

	watch(samplers);
	expect_own_clocks(samplers);
}

PROBE_MAIN
