/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the output of a ring be paused while its events go on counting? A reader of an overwritten
 * ring needs this to get a picture that stands still.
 * Observed: no byte while paused, records after, the count uninterrupted.
 * Linux commit 86e7972f690c ("perf/ring_buffer: Introduce new ioctl options to pause and resume
 * the ring-buffer") (v4.7)
 */
#include "probe.h"

PROBE(TITLE("pausing a ring")
      SINCE("4.7")
      COMMIT("86e7972f690c")
      POINT(pause_stops_output, "while paused nothing is written, and the event counts on")
      POINT(resume_continues, "after resuming, each event is a record again")
      POINT(unmapped_is_refused, "EINVAL for an event without a ring"))

FIXTURE(ring)
{
	struct watch watch;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	self->watch = must_watch(&attr, 0, -1, 1);
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->watch.ring);
}

TEST_F(ring, pause_stops_output)
{
	uint64_t counted, head;

	if (sample_faults(self->watch.fd, 4) != 4 || !pm_ring_head(&self->watch.ring))
		cannot_tell("the ring does not work before the pause");
	head = pm_ring_head(&self->watch.ring);
	ask_ioctl(self->watch.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	counted = sample_faults(self->watch.fd, 20);
	if (counted != 20 || pm_ring_head(&self->watch.ring) != head)
		broken("paused: counted=%" PRIu64 " want=20 data_head=%" PRIu64 " was=%" PRIu64,
		       counted, pm_ring_head(&self->watch.ring), head);
}

TEST_F(ring, resume_continues)
{
	uint64_t head;

	ask_ioctl(self->watch.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	sample_faults(self->watch.fd, 20);
	head = pm_ring_head(&self->watch.ring);
	must_ioctl(self->watch.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	if (head)
		broken("data_head=%" PRIu64 " in the pause", head);
	hold_samples(self->watch.fd, &self->watch.ring, 20, "after resuming");
}

TEST_F(ring, unmapped_is_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0);

	ask_ioctl(self->watch.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	hold_rule(pm_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL, BROKEN,
		  "PAUSE_OUTPUT of an event without a ring");
}

PROBE_MAIN
