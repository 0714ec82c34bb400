/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which clocks may stamp records, and do the stamps lie where that clock says they must? With a
 * known clock nobody has to estimate offsets.
 * Observed: a page fault between two readings of the same clock, 20 times.
 * Linux 34f439278cef ("perf: Add per event clockid support") (v4.1)
 */
#include "probe.h"
#include <stdio.h>

PROBE(TITLE("clocks of an event's choice")
      SINCE("4.1")
      COMMIT("34f439278cef")
      POINT(realtime.stamps, "CLOCK_REALTIME: every stamp lies between readings around it")
      POINT(monotonic.stamps, "CLOCK_MONOTONIC: every stamp lies between readings around it")
      POINT(monotonic_raw.stamps, "CLOCK_MONOTONIC_RAW: every stamp lies between readings")
      POINT(boottime.stamps, "CLOCK_BOOTTIME: every stamp lies between readings around it")
      POINT(tai.stamps, "CLOCK_TAI: every stamp lies between readings around it")
      POINT(coarse_and_cpu_clocks, "the other clocks (2, 3, 5, 6, 8, 9, 10) and -1 are EINVAL")
      POINT(breakpoint_realtime, "a breakpoint, which may hit in an NMI, refuses CLOCK_REALTIME")
      POINT(breakpoint_monotonic, "a breakpoint takes CLOCK_MONOTONIC and stamps by it")
      POINT(ignored_without_bit, "attr.clockid without use_clockid changes nothing"))

static struct perf_event_attr attr_stamped(int clock)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);

	attr.use_clockid = 1;
	attr.clockid = clock;
	return attr;
}

/* Causing a fault 20 times, each stamp must lie between two readings. */
static void must_bracket(struct __test_metadata *_metadata, struct watch *watch, int clock,
			 volatile uint64_t *watched)
{
	struct pm_record record;
	uint64_t before, after;

	/* What the first reading of a clock faults in must not pass for the deed. */
	ASSERT_EQ(0, pm_clock_ns(clock, &before));
	must_ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < 20; i++) {
		while (seek(watch, PERF_RECORD_SAMPLE, &record))
			;
		ASSERT_EQ(0, pm_clock_ns(clock, &before));
		if (watched)
			*watched = i;
		else
			ASSERT_EQ(0, cause_faults(1));
		ASSERT_EQ(0, pm_clock_ns(clock, &after));
		if (!seek(watch, PERF_RECORD_SAMPLE, &record))
			broken("no sample of deed %d", i);
		if (after < before)	/* somebody set the clock */
			continue;
		if (record.sample.sid.time < before || record.sample.sid.time > after)
			broken("stamp=%" PRIu64 " not within %" PRIu64 "..%" PRIu64,
			       record.sample.sid.time, before, after);
	}
}

FIXTURE(bracket)
{
	int unused;
};

FIXTURE_VARIANT(bracket)
{
	int clock;
};

FIXTURE_VARIANT_ADD(bracket, realtime) { .clock = 0, };
FIXTURE_VARIANT_ADD(bracket, monotonic) { .clock = 1, };
FIXTURE_VARIANT_ADD(bracket, monotonic_raw) { .clock = 4, };
FIXTURE_VARIANT_ADD(bracket, boottime) { .clock = 7, };
FIXTURE_VARIANT_ADD(bracket, tai) { .clock = 11, };

FIXTURE_SETUP(bracket)
{
}

FIXTURE_TEARDOWN(bracket)
{
}

TEST_F(bracket, stamps)
{
	struct perf_event_attr attr = attr_stamped(variant->clock);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TIME);
	struct watch watch = ask_watch(&attr, &without, 0, -1, 2, "the clock");

	must_bracket(_metadata, &watch, variant->clock, NULL);
}

static void must_know_clocks(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_stamped(CLOCK_MONOTONIC);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TIME);

	close(ask_open(&attr, &without, 0, -1, "use_clockid"));
}

TEST(coarse_and_cpu_clocks)
{
	static const int others[] = { 2, 3, 5, 6, 8, 9, 10, -1 };

	must_know_clocks(_metadata);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct perf_event_attr attr = attr_stamped(others[i]);
		char what[32];

		snprintf(what, sizeof(what), "clock %d", others[i]);
		hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, what);
	}
}

static volatile uint64_t watched;

static struct perf_event_attr attr_breakpoint(int clock)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TIME;
	attr.use_clockid = 1;
	attr.clockid = clock;
	return attr;
}

TEST(breakpoint_realtime)
{
	struct perf_event_attr attr = attr_breakpoint(CLOCK_MONOTONIC);

	require(REQUIRE_BREAKPOINT);
	must_know_clocks(_metadata);
	close(must_open(&attr, 0, -1, -1, 0));
	attr.clockid = CLOCK_REALTIME;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a breakpoint by CLOCK_REALTIME");
}

TEST(breakpoint_monotonic)
{
	struct perf_event_attr attr = attr_breakpoint(CLOCK_MONOTONIC), without = attr;
	struct watch watch;

	require(REQUIRE_BREAKPOINT);
	without.use_clockid = without.clockid = 0;
	watch = ask_watch(&attr, &without, 0, -1, 2, "use_clockid");
	must_bracket(_metadata, &watch, CLOCK_MONOTONIC, &watched);
}

TEST(ignored_without_bit)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME), without = attr;
	struct watch plain, marked;
	struct pm_record first, second;

	attr.clockid = 11;
	must_know_clocks(_metadata);
	plain = must_watch(&without, 0, -1, 2);
	marked = ask_watch(&attr, &without, 0, -1, 2, "clockid without use_clockid");
	must_ioctl(plain.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(marked.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!seek(&plain, PERF_RECORD_SAMPLE, &first) ||
	    !seek(&marked, PERF_RECORD_SAMPLE, &second))
		broken("no sample of a page fault");
	if (first.sample.sid.time + 1000000000 < second.sample.sid.time ||
	    second.sample.sid.time + 1000000000 < first.sample.sid.time)
		broken("stamps of one fault=%" PRIu64 " and %" PRIu64, first.sample.sid.time,
		       second.sample.sid.time);
}

PROBE_MAIN
