/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to an event that is running when its ring goes away? It must go on counting, say
 * so to a poller (POLLHUP: no ring), and take a new ring. Early kernels crashed here.
 * Observed by count, poll and the records of the second ring.
 */
#include "probe.h"
#include "waiter.h"

PROBE(TITLE("unmapping the ring of a running event")
      SINCE("2.6.31")
      POINT(counts_on, "an event counts each fault after munmap of its ring")
      POINT(polls_hup, "poll of an event reports POLLHUP after munmap of its ring")
      SINCE("3.18")
      POINT(takes_a_new_ring, "a ring mapped again starts empty and receives each record"))

FIXTURE(event)
{
	struct sampler sampler;
};

FIXTURE_SETUP(event)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	self->sampler = must_sampler(&attr, 0, -1, 1);
	must_samples(self->sampler.fd, &self->sampler.ring, 5, "before munmap");
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
}

FIXTURE_TEARDOWN(event)
{
	close(self->sampler.fd);
}

TEST_F(event, counts_on)
{
	uint64_t gain;

	pm_ring_close(&self->sampler.ring);
	gain = gain_of_faults(self->sampler.fd, NULL, 20);
	if (gain != 20)
		say_broken("counted=%" PRIu64 " want=20 after munmap", gain);
	/* Another size is only possible once the first ring is gone. */
	must_map(self->sampler.fd, 2, &self->sampler.ring);
}

TEST_F(event, polls_hup)
{
	const int before = poll_once(self->sampler.fd, POLLIN, 0);

	if (before)
		say_broken("revents=%#x while mapped", before);
	pm_ring_close(&self->sampler.ring);
	expect_hang_up(poll_once(self->sampler.fd, POLLIN, 0), "an event without a ring");
}

TEST_F(event, takes_a_new_ring)
{
	uint64_t head;

	pm_ring_close(&self->sampler.ring);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	must_map(self->sampler.fd, 2, &self->sampler.ring);
	head = pm_ring_head(&self->sampler.ring);
	if (head)
		say_broken("second ring: data_head=%" PRIu64 " at first", head);
	expect_samples(self->sampler.fd, &self->sampler.ring, 20, "into the second ring");
}

PROBE_MAIN
