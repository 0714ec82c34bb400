/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which clocks may stamp records, and do the stamps lie where that clock says they must? With a
 * known clock nobody has to estimate offsets.
 * Observed: a page fault between two readings of the same clock, 20 times.
 * Linux 34f439278cef ("perf: Add per event clockid support") (v4.1)
 */
#include "probe.h"
#include "stamps.h"
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
      POINT(ignored_without_bit, "attr.clockid without use_clockid changes nothing"))

static struct perf_event_attr attr_stamped(int clock)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);

	attr.use_clockid = 1;
	attr.clockid = clock;
	return attr;
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
	struct sampler sampler = ask_run_sampler(&attr, &without, 0, -1, 2, "the clock");
	struct pm_clock_bracket brackets[20];

	stamp_faults(&sampler, variant->clock, brackets, 20);
	for (int i = 0; i < 20; i++) {
		const struct pm_clock_bracket *bracket = &brackets[i];

		/* The clock may have been set in between. */
		if (bracket->after >= bracket->before &&
		    (bracket->at < bracket->before || bracket->at > bracket->after))
			say_broken("stamp=%" PRIu64 " not within %" PRIu64 "..%" PRIu64,
				   bracket->at, bracket->before, bracket->after);
	}
}

static void must_know_clocks(void)
{
	struct perf_event_attr attr = attr_stamped(CLOCK_MONOTONIC);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TIME);

	close(ask_open(&attr, &without, 0, -1, "use_clockid"));
}

TEST(coarse_and_cpu_clocks)
{
	static const int others[] = { 2, 3, 5, 6, 8, 9, 10, -1 };

	must_know_clocks();
	for (unsigned int i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct perf_event_attr attr = attr_stamped(others[i]);
		char what[32];

		snprintf(what, sizeof(what), "clock %d", others[i]);
		expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, what);
	}
}

TEST(ignored_without_bit)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME), without = attr;
	struct sampler plain, marked;
	struct pm_record first, second;

	attr.clockid = 11;
	must_know_clocks();
	plain = must_sampler(&without, 0, -1, 2);
	marked = ask_sampler(&attr, &without, 0, -1, 2, "clockid without use_clockid");
	must_ioctl(plain.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(marked.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!find_record(&plain, PERF_RECORD_SAMPLE, &first) ||
	    !find_record(&marked, PERF_RECORD_SAMPLE, &second))
		say_broken("no sample of a page fault");
	if (first.sample.sid.time + 1000000000 < second.sample.sid.time ||
	    second.sample.sid.time + 1000000000 < first.sample.sid.time)
		say_broken("stamps of one fault=%" PRIu64 " and %" PRIu64, first.sample.sid.time,
			   second.sample.sid.time);
}

PROBE_MAIN
