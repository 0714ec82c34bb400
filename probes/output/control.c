/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who governs a shared ring? A target need not run itself: a disabled event or a dummy will do as
 * the leader of a ring. A pause, whoever asks for it, is a pause of the ring. Wake-up thresholds
 * of samples belong to the event that samples, a watermark to the ring.
 * Observed by records in the target's ring.
 */
#include "probe.h"

PROBE(TITLE("governing a shared ring")
      SINCE("2.6.35")
      POINT(disabled_target_receives, "a target that is disabled receives its source's records")
      POINT(sideband_target_receives, "so does a dummy event that counts nothing")
      POINT(target_does_not_count, "a target does not count what it receives")
      POINT(pause_by_target, "PAUSE_OUTPUT on the target stops the source's records")
      SINCE("4.7")
      POINT(pause_by_source, "PAUSE_OUTPUT on the source stops the target's records")
      SINCE("4.7")
      POINT(source_wakeup_counts, "wakeup_events of the source decides about its samples")
      POINT(target_watermark_rules, "wakeup_watermark of the target decides about bytes"))

FIXTURE(pair)
{
	struct watch target;
	int source;
};

static int open_source(struct __test_metadata *_metadata, const struct watch *target,
		       unsigned int wakeup_events)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int source;

	attr.wakeup_events = wakeup_events;
	source = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target->fd);
	return source;
}

FIXTURE_SETUP(pair)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	self->target = must_watch(&attr, 0, -1, 1);
	self->source = open_source(_metadata, &self->target, 0);
}

FIXTURE_TEARDOWN(pair)
{
	close(self->source);
}

TEST_F(pair, disabled_target_receives)
{
	int found;

	must_ioctl(self->target.fd, PERF_EVENT_IOC_DISABLE, 0);
	sample_faults(self->source, 20);
	found = count_records(&self->target.ring, PERF_RECORD_SAMPLE);
	if (found != 20)
		broken("records=%d want=20 in the ring of a disabled target", found);
}

TEST_F(pair, sideband_target_receives)
{
	struct perf_event_attr attr = attr_sideband();
	struct watch dummy = must_watch(&attr, 0, -1, 1);
	int found, source = open_source(_metadata, &dummy, 0);

	must_ioctl(dummy.fd, PERF_EVENT_IOC_ENABLE, 0);
	sample_faults(source, 20);
	found = count_records(&dummy.ring, PERF_RECORD_SAMPLE);
	if (found != 20)
		broken("records=%d want=20 in the ring of a dummy", found);
}

TEST_F(pair, target_does_not_count)
{
	uint64_t counted = sample_faults(self->source, 20), received;

	received = must_count(self->target.fd);
	if (counted != 20 || received || !pm_ring_head(&self->target.ring))
		broken("source counted=%" PRIu64 " target counted=%" PRIu64 " want=20,0", counted,
		       received);
}

/* Pause through one event, write through the other. */
static void pause_through(struct __test_metadata *_metadata, struct watch *target, int pauser,
			  int writer)
{
	int found[2];

	ask_ioctl(pauser, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	sample_faults(writer, 20);
	found[0] = count_records(&target->ring, PERF_RECORD_SAMPLE);
	must_ioctl(pauser, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	sample_faults(writer, 20);
	found[1] = count_records(&target->ring, PERF_RECORD_SAMPLE);
	if (found[0] || found[1] != 20)
		broken("records=%d paused, %d resumed, want=0,20", found[0], found[1]);
}

TEST_F(pair, pause_by_target)
{
	pause_through(_metadata, &self->target, self->target.fd, self->source);
}

TEST_F(pair, pause_by_source)
{
	pause_through(_metadata, &self->target, self->source, self->target.fd);
}

/* Samples of an event until the target's poll finds something, at most `most`; 0: never. */
static int samples_until_ready(struct __test_metadata *_metadata, int source, int target, int most)
{
	for (int samples = 1; samples <= most; samples++) {
		sample_faults(source, 1);
		if (poll_once(target, POLLIN, 0) == POLLIN)
			return samples;
	}
	return 0;
}

TEST_F(pair, source_wakeup_counts)
{
	int third = open_source(_metadata, &self->target, 3), samples[2];

	samples[0] = samples_until_ready(_metadata, self->source, self->target.fd, 5);
	samples[1] = samples_until_ready(_metadata, third, self->target.fd, 5);
	if (samples[0] || samples[1] != 3)
		broken("ready after %d samples of a source without threshold, %d of one with 3",
		       samples[0], samples[1]);
}

TEST_F(pair, target_watermark_rules)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct watch target;
	int samples;

	attr.watermark = 1;
	attr.wakeup_watermark = 100;
	target = must_watch(&attr, 0, -1, 1);
	samples = samples_until_ready(_metadata, open_source(_metadata, &target, 0), target.fd, 20);
	if (samples != 100 / 16 + 1)
		broken("ready after %d samples of 16 bytes, watermark=100", samples);
}

PROBE_MAIN
