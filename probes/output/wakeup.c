/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose wake-up threshold holds where several events share a ring? A number of samples belongs to
 * the event that samples, a number of bytes to the ring, which is the target's: a threshold set
 * on the wrong one never wakes the reader.
 * Observed sample by sample with a poll of the target that does not wait.
 */
#include "probe.h"
#include "redirection.h"

PROBE(TITLE("wake-up thresholds in a shared ring")
      SINCE("2.6.35")
      POINT(source_counts_samples, "wakeup_events of the source decides about its samples")
      POINT(target_counts_bytes, "wakeup_watermark of the target decides about bytes"))

#define RECORD 16

/* Samples of an event until the target's poll finds something, at most `most`; 0: never. */
static int samples_until_ready(int source, int target, int most)
{
	for (int samples = 1; samples <= most; samples++) {
		cause_enabled_faults(source, 1);
		if (poll_once(target, POLLIN, 0) == POLLIN)
			return samples;
	}
	return 0;
}

TEST(source_counts_samples)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);
	int third, samples[2];

	attr.wakeup_events = 3;
	third = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(third, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd);
	samples[0] = samples_until_ready(pair.source, pair.target.fd, 5);
	samples[1] = samples_until_ready(third, pair.target.fd, 5);
	if (samples[0] || samples[1] != 3)
		say_broken("ready after %d samples of a source without threshold, %d of one with 3",
			   samples[0], samples[1]);
}

TEST(target_counts_bytes)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct sampler target;
	int samples, source;

	source = must_open(&attr, 0, -1, -1, 0);
	attr.watermark = 1;
	attr.wakeup_watermark = 100;
	target = must_sampler(&attr, 0, -1, 1);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	samples = samples_until_ready(source, target.fd, 20);
	if (samples != 100 / RECORD + 1)
		say_broken("ready after %d samples of %d bytes, watermark=100", samples, RECORD);
}

PROBE_MAIN
