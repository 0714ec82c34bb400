/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which clocks can stamp the samples of a tracepoint? Software events take five of them, but the
 * clocks that are set or corrected (CLOCK_REALTIME, BOOTTIME, TAI) may not be read in an NMI, and a
 * tracepoint may be hit in one. Who joins a trace with logs in wall-clock time has to convert.
 * Observed: close(2) of a number that is no descriptor, between two readings of the same clock, 20
 * times. clock.clockid asks the same of page faults.
 * Linux 34f439278cef ("perf: Add per event clockid support") (v4.1)
 */
#include "probe.h"
#include "tp_close.h"

PROBE(TITLE("clocks of a tracepoint's choice")
      SINCE("4.1")
      COMMIT("34f439278cef")
      NEEDS("tracefs")
      POINT(monotonic.stamps, "samples of a tracepoint have times of CLOCK_MONOTONIC")
      POINT(monotonic_raw.stamps, "samples of a tracepoint have times of CLOCK_MONOTONIC_RAW")
      POINT(settable, "CLOCK_REALTIME, BOOTTIME and TAI are refused with EINVAL for a tracepoint, "
	    "or their stamps are right")
      FACT(settable_clocks, int, "clocks", "how many of these three are accepted"))

#define ROUNDS 20

static uint64_t read_clock(int clock)
{
	uint64_t now;
	int error = pm_clock_ns(clock, &now);

	if (error)
		say_unknown("clock %d cannot be read: %s", clock, pm_errno_name(error));
	return now;
}

static struct perf_event_attr attr_stamped(int clock)
{
	struct perf_event_attr attr = sampling(1, PERF_SAMPLE_TIME);

	attr.use_clockid = 1;
	attr.clockid = clock;
	return attr;
}

static void expect_stamps(struct sampler *sampler, int clock)
{
	struct pm_record record;

	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int round = 0; round < ROUNDS; round++) {
		const uint64_t before = read_clock(clock);
		uint64_t after, at;

		cause_closes(FIRST, 1);
		after = read_clock(clock);
		if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of hit %d with clock %d", round, clock);
		at = record.sample.sid.time;
		/* The clock may have been set in between. */
		if (after >= before && (at < before || at > after))
			say_broken("clock %d: stamp=%" PRIu64 " not within %" PRIu64 "..%" PRIu64,
				   clock, at, before, after);
	}
}

static struct sampler ask_stamped(int clock)
{
	const struct perf_event_attr with = attr_stamped(clock);
	const struct perf_event_attr without = sampling(1, PERF_SAMPLE_TIME);

	return ask_sampler(&with, &without, 0, -1, 2, "the clock");
}

FIXTURE(clock)
{
	int unused;
};

FIXTURE_VARIANT(clock)
{
	int id;
};

FIXTURE_VARIANT_ADD(clock, monotonic) { .id = CLOCK_MONOTONIC, };
FIXTURE_VARIANT_ADD(clock, monotonic_raw) { .id = CLOCK_MONOTONIC_RAW, };

FIXTURE_SETUP(clock)
{
}

FIXTURE_TEARDOWN(clock)
{
}

TEST_F(clock, stamps)
{
	struct sampler sampler = ask_stamped(variant->id);

	expect_stamps(&sampler, variant->id);
}

TEST(settable)
{
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI };
	int accepted = 0;

	close(ask_stamped(CLOCK_MONOTONIC).fd);
	for (unsigned int i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		struct perf_event_attr attr = attr_stamped(clocks[i]);
		struct sampler sampler;
		int fd = pm_open(&attr, 0, -1, -1, 0);

		if (fd < 0) {
			expect_refused(fd, EINVAL, BROKEN, "a clock that can be set");
			continue;
		}
		close(fd);
		accepted++;
		sampler = must_sampler(&attr, 0, -1, 2);
		expect_stamps(&sampler, clocks[i]);
	}
	fact_int("settable_clocks", accepted);
}

PROBE_MAIN
