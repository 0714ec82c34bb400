/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does a library stop a reader that sleeps in poll? DISABLE makes no ring readable, so a
 * channel beside the rings is needed.
 * Observed: a poll of ring and eventfd after DISABLE, and after a write to the eventfd.
 */
#include "probe.h"

#include <sys/eventfd.h>

PROBE(TITLE("stopping a reader that sleeps in poll")
      SINCE("2.6.31")
      POINT(stop_channel, "an eventfd beside the ring wakes a reader in poll; DISABLE does not"))

TEST(stop_channel)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct sampler sampler = must_sampler(&attr, 0, -1, 8);
	struct pollfd fds[2] = { { .fd = sampler.fd, .events = POLLIN }, { .events = POLLIN } };
	uint64_t one = 1;
	int by_disable, by_channel;

	fds[1].fd = eventfd(0, EFD_CLOEXEC);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	poll(fds, 1, 0);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!must_count(sampler.fd))
		say_broken("the event did not run");
	by_disable = poll(fds, 2, 30);
	ASSERT_EQ(8, write(fds[1].fd, &one, 8));
	by_channel = poll(fds, 2, 1000);
	if (by_disable || by_channel != 1 || !(fds[1].revents & POLLIN))
		say_broken("woken by DISABLE=%d by the channel=%d", by_disable, by_channel);
}

PROBE_MAIN
