/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When does a ring of samples wake its reader? By default when half of it is filled; or after a
 * number of samples, or a number of bytes. A reader that asks for the wrong one wakes for each
 * sample, or too late.
 * Observed sample by sample with a poll that does not wait: the first that finds POLLIN.
 */
#include "probe.h"

PROBE(TITLE("wake-up thresholds of samples")
      SINCE("2.6.31")
      POINT(default_is_half_ring, "without a threshold, samples give POLLIN once half of the ring "
	    "is written")
      POINT(events_count_samples, "wakeup_events=3 gives POLLIN after each third sample and no "
	    "other")
      POINT(watermark_counts_bytes, "wakeup_watermark=100 gives POLLIN once more than 100 bytes "
	    "are written")
      POINT(watermark_repeats, "wakeup_watermark=100 gives the next POLLIN after the next 100 "
	    "bytes")
      FACT(default_bytes, int, "bytes", "written at the first POLLIN without a threshold")
      FACT(ring_bytes, int, "bytes", "size of that ring's data area")
      FACT(watermark_bytes, int, "bytes", "written at the first POLLIN with a watermark of 100"))

#define RECORD 16

static struct sampler sampling(unsigned int watermark, unsigned int wakeup)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.watermark = watermark;
	attr.wakeup_events = wakeup;	/* shares its place with wakeup_watermark */
	return must_sampler(&attr, 0, -1, 1);
}

/* Sample until poll finds something, at most `most` samples. Returns their number, 0: never. */
static unsigned int until_ready(struct sampler *sampler, unsigned int most)
{
	int ready = poll_once(sampler->fd, POLLIN, 0);

	if (ready)
		say_broken("ready before the first sample: revents=%#x", ready);
	for (unsigned int samples = 1; samples <= most; samples++) {
		cause_enabled_faults(sampler->fd, 1);
		ready = poll_once(sampler->fd, POLLIN, 0);
		if (ready == POLLIN)
			return samples;
		if (ready)
			say_broken("revents=%#x after %u samples", ready, samples);
	}
	return 0;
}

TEST(default_is_half_ring)
{
	struct sampler sampler = sampling(0, 0);
	const unsigned int half = sampler.ring.data_size / 2 / RECORD;
	unsigned int samples;

	/* Up to just below the half at once, for the sake of large pages. */
	cause_enabled_faults(sampler.fd, half - 9);
	samples = until_ready(&sampler, 20);
	fact_int("default_bytes", pm_ring_head(&sampler.ring));
	fact_int("ring_bytes", sampler.ring.data_size);
	if (samples < 9 || samples > 10)
		say_broken("samples=%u want=%u or one more", samples ? half - 9 + samples : 0,
			   half);
}

TEST(events_count_samples)
{
	struct sampler sampler = sampling(0, 3);

	for (int round = 0; round < 4; round++) {
		unsigned int samples = until_ready(&sampler, 5);

		if (samples != 3)
			say_broken("round %d: samples=%u want=3", round, samples);
	}
}

TEST(watermark_counts_bytes)
{
	struct sampler sampler = sampling(1, 100);
	unsigned int samples = until_ready(&sampler, 20);

	fact_int("watermark_bytes", samples * RECORD);
	if (samples != 100 / RECORD + 1)
		say_broken("samples=%u want=%d", samples, 100 / RECORD + 1);
}

TEST(watermark_repeats)
{
	struct sampler sampler = sampling(1, 100);
	unsigned int first = until_ready(&sampler, 20), second;

	second = until_ready(&sampler, 20);
	if ((first + second) != 200 / RECORD + 1)
		say_broken("samples=%u+%u want=%d in all", first, second, 200 / RECORD + 1);
}

PROBE_MAIN
