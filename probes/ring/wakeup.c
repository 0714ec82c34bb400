/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When does a ring of samples call its reader? By default when half of it is filled; or after a
 * number of samples, or a number of bytes. A reader that asks for the wrong one wakes for each
 * sample, or too late.
 * Observed sample by sample with a poll that does not wait: the first that finds POLLIN.
 */
#include "probe.h"

PROBE(TITLE("wake-up thresholds of samples")
      SINCE("2.6.31")
      POINT(default_is_half_ring, "without a threshold, POLLIN once half of the ring is written")
      POINT(events_count_samples, "wakeup_events=3: POLLIN after each third sample, no other")
      POINT(watermark_counts_bytes, "wakeup_watermark=100: POLLIN once more than that is written")
      POINT(watermark_repeats, "the next POLLIN comes after the next 100 bytes")
      FACT(default_bytes, int, "bytes", "written at the first POLLIN without a threshold")
      FACT(ring_bytes, int, "bytes", "size of that ring's data area")
      FACT(watermark_bytes, int, "bytes", "written at the first POLLIN with a watermark of 100"))

#define RECORD 16

static struct watch sampler(unsigned int watermark, unsigned int wakeup)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.watermark = watermark;
	attr.wakeup_events = wakeup;	/* shares its place with wakeup_watermark */
	return must_watch(&attr, 0, -1, 1);
}

/* Sample until poll finds something, at most `most` samples. Returns their number, 0: never. */
static unsigned int until_ready(struct watch *watch, unsigned int most)
{
	int ready = poll_once(watch->fd, POLLIN, 0);

	if (ready)
		broken("ready before the first sample: revents=%#x", ready);
	for (unsigned int samples = 1; samples <= most; samples++) {
		sample_faults(watch->fd, 1);
		ready = poll_once(watch->fd, POLLIN, 0);
		if (ready == POLLIN)
			return samples;
		if (ready)
			broken("revents=%#x after %u samples", ready, samples);
	}
	return 0;
}

TEST(default_is_half_ring)
{
	struct watch watch = sampler(0, 0);
	const unsigned int half = watch.ring.data_size / 2 / RECORD;
	unsigned int samples;

	/* Up to just below the half at once, for the sake of large pages. */
	sample_faults(watch.fd, half - 9);
	samples = until_ready(&watch, 20);
	fact_int("default_bytes", pm_ring_head(&watch.ring));
	fact_int("ring_bytes", watch.ring.data_size);
	if (samples < 9 || samples > 10)
		broken("samples=%u want=%u or one more", samples ? half - 9 + samples : 0, half);
}

TEST(events_count_samples)
{
	struct watch watch = sampler(0, 3);

	for (int round = 0; round < 4; round++) {
		unsigned int samples = until_ready(&watch, 5);

		if (samples != 3)
			broken("round %d: samples=%u want=3", round, samples);
	}
}

TEST(watermark_counts_bytes)
{
	struct watch watch = sampler(1, 100);
	unsigned int samples = until_ready(&watch, 20);

	fact_int("watermark_bytes", samples * RECORD);
	if (samples != 100 / RECORD + 1)
		broken("samples=%u want=%d", samples, 100 / RECORD + 1);
}

TEST(watermark_repeats)
{
	struct watch watch = sampler(1, 100);
	unsigned int first = until_ready(&watch, 20), second;

	second = until_ready(&watch, 20);
	if ((first + second) != 200 / RECORD + 1)
		broken("samples=%u+%u want=%d in all", first, second, 200 / RECORD + 1);
}

PROBE_MAIN
