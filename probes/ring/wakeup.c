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

static unsigned int samples_in(const struct sampler *sampler)
{
	return (unsigned int)(pm_ring_head(&sampler->ring) / RECORD);
}

/*
 * Sample until poll finds something, at most `most` times. Returns whether it does when the ring
 * reaches so many samples, counted from its start: a fault that nobody meant leaves one, too.
 */
static bool is_ready_at(struct sampler *sampler, unsigned int want, unsigned int most)
{
	int ready = poll_once(sampler->fd, POLLIN, 0);

	if (ready)
		say_broken("ready before the next sample: revents=%#x", ready);
	for (unsigned int i = 0; i < most; i++) {
		const unsigned int before = samples_in(sampler);

		cause_enabled_faults(sampler->fd, 1);
		ready = poll_once(sampler->fd, POLLIN, 0);
		if (ready == POLLIN)
			return before < want && want <= samples_in(sampler);
		if (ready)
			say_broken("revents=%#x with %u samples", ready, samples_in(sampler));
	}
	return false;
}

TEST(default_is_half_ring)
{
	struct sampler sampler = sampling(0, 0);
	const unsigned int half = sampler.ring.data_size / 2 / RECORD;

	/* Up to just below the half at once, for the sake of large pages. */
	cause_enabled_faults(sampler.fd, half - 9);
	if (!is_ready_at(&sampler, half, 20) && samples_in(&sampler) != half + 1)
		say_broken("samples=%u want=%u or one more", samples_in(&sampler), half);
	fact_int("default_bytes", pm_ring_head(&sampler.ring));
	fact_int("ring_bytes", sampler.ring.data_size);
}

TEST(events_count_samples)
{
	struct sampler sampler = sampling(0, 3);

	for (unsigned int want = 3; want <= 12; want += 3)
		if (!is_ready_at(&sampler, want, 5))
			say_broken("samples=%u want=%u", samples_in(&sampler), want);
}

TEST(watermark_counts_bytes)
{
	struct sampler sampler = sampling(1, 100);

	if (!is_ready_at(&sampler, 100 / RECORD + 1, 20))
		say_broken("samples=%u want=%d", samples_in(&sampler), 100 / RECORD + 1);
	fact_int("watermark_bytes", pm_ring_head(&sampler.ring));
}

TEST(watermark_repeats)
{
	struct sampler sampler = sampling(1, 100);
	const bool first = is_ready_at(&sampler, 100 / RECORD + 1, 20);

	if (!is_ready_at(&sampler, 200 / RECORD + 1, 20) || !first)
		say_broken("samples=%u want=%d in all", samples_in(&sampler), 200 / RECORD + 1);
}

PROBE_MAIN
