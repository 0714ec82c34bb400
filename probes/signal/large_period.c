/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a huge sampling period mean "never"? The largest is 2^63 - 1; with the topmost bit set
 * the kernel once took it for a negative number and sampled at every event.
 * Observed by no sample among many page faults, and by EINVAL.
 */
#include "probe.h"

PROBE(TITLE("very large sampling periods")
      SINCE("2.6.31")
      POINT(largest_never_samples, "a period of 2^63 - 1 is accepted and gives no sample")
      POINT(top_bit_is_refused, "a period of 2^63 or more is refused with EINVAL")
      SINCE("3.15"))

static struct perf_event_attr with_period(uint64_t period)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.sample_period = period;
	return attr;
}

TEST(largest_never_samples)
{
	struct perf_event_attr attr = with_period((1ull << 63) - 1), often = with_period(10);
	struct sampler sampler = must_sampler(&attr, 0, -1, 1),
		       control = must_sampler(&often, 0, -1, 1);
	uint64_t counted = cause_enabled_faults(sampler.fd, 50);
	int found;

	cause_enabled_faults(control.fd, 50);
	found = count_records(&control.ring, PERF_RECORD_SAMPLE);
	if (counted != 50 || found != 5 || pm_ring_head(&sampler.ring))
		say_broken("counted=%" PRIu64
			   " want=50; samples at a period of 10: %d want=5; bytes=%" PRIu64,
			   counted, found, pm_ring_head(&sampler.ring));
}

TEST(top_bit_is_refused)
{
	struct perf_event_attr without = with_period((1ull << 63) - 1), with;

	close(must_open(&without, 0, -1, -1, 0));
	with = with_period(1ull << 63);
	expect_refused(pm_open(&with, 0, -1, -1, 0), EINVAL, NO, "a period of 2^63");
	with = with_period(~0ull);
	expect_refused(pm_open(&with, 0, -1, -1, 0), EINVAL, NO, "a period of 2^64 - 1");
}

PROBE_MAIN
