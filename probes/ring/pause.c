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
      POINT(pause_stops_output, "while a ring is paused nothing is written, and the event keeps "
	    "counting")
      POINT(resume_continues, "after a pause each event is recorded again")
      POINT(unmapped_is_refused, "PAUSE_OUTPUT of an event without a ring is refused with EINVAL"))

FIXTURE(ring)
{
	struct sampler sampler;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	self->sampler = must_sampler(&attr, 0, -1, 1);
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->sampler.ring);
}

TEST_F(ring, pause_stops_output)
{
	uint64_t counted, head;

	if (cause_enabled_faults(self->sampler.fd, 4) != 4 || !pm_ring_head(&self->sampler.ring))
		say_unknown("the ring does not work before the pause");
	head = pm_ring_head(&self->sampler.ring);
	ask_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	counted = cause_enabled_faults(self->sampler.fd, 20);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	expect_gain(self->sampler.fd, NULL, 5, 5);	/* enabled before the pause, and on */
	if (counted != 20 || pm_ring_head(&self->sampler.ring) != head)
		say_broken("paused: counted=%" PRIu64 " want=20 data_head=%" PRIu64 " was=%" PRIu64,
			   counted, pm_ring_head(&self->sampler.ring), head);
}

TEST_F(ring, resume_continues)
{
	uint64_t head;

	ask_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	cause_enabled_faults(self->sampler.fd, 20);
	head = pm_ring_head(&self->sampler.ring);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	if (head)
		say_broken("data_head=%" PRIu64 " in the pause", head);
	expect_samples(self->sampler.fd, &self->sampler.ring, 20, "after resuming");
}

TEST_F(ring, unmapped_is_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0);

	ask_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	expect_refused(pm_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL, BROKEN,
		       "PAUSE_OUTPUT of an event without a ring");
}

PROBE_MAIN
