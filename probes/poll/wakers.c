/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What else wakes a reader, and what does not? The end of a REFRESH limit is no POLLHUP, and
 * nothing at all unless a threshold is reached; a change of the ring by SET_OUTPUT wakes whoever
 * waits; closing the descriptor in another thread does not, for poll holds the event.
 * Observed with a thread asleep in poll(2). Page faults only: timers with REFRESH hang some
 * kernels.
 */
#include "probe.h"
#include "waiter.h"
#include "waking.h"

PROBE(TITLE("other things that may wake a reader")
      SINCE("2.6.31")
      POINT(refresh_end_is_in, "poll reports the last sample of a REFRESH limit as POLLIN, never "
	    "as POLLHUP")
      SINCE("2.6.37")
      FACT(refresh_end_alone, int, "-", "revents at the end of a REFRESH limit without a wake-up "
	    "threshold")
      POINT(redirection_wakes, "a thread asleep in poll wakes when SET_OUTPUT takes the ring from "
	    "its event")
      SINCE("3.18")
      POINT(close_does_not_wake, "closing a descriptor does not wake a thread asleep in poll of "
	    "it"))

static struct perf_event_attr plain;

static struct sampler sampling(void)
{
	plain = attr_faults(PERF_SAMPLE_IP);
	return must_sampler(&plain, 0, -1, 1);
}

TEST(refresh_end_is_in)
{
	struct sampler sampler = sampling(), silent = sampling();
	int found, revents, after;
	struct waiter waiter;

	plain.wakeup_events = 3;
	sampler = must_sampler(&plain, 0, -1, 1);
	must_wait(&waiter, sampler.fd, 3000);
	expect_asleep(&waiter, "an idle ring");
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_REFRESH, 3);
	must_ioctl(silent.fd, PERF_EVENT_IOC_REFRESH, 3);
	ASSERT_EQ(0, cause_faults(10));
	revents = woken_by(&waiter, 1000);
	found = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	after = poll_once(sampler.fd, POLLIN, 0);
	fact_int("refresh_end_alone", poll_once(silent.fd, POLLIN, 0));
	if (revents != POLLIN || found != 3 || after)
		say_broken("revents=%#x want=%#x then %#x want=0; records=%d want=3", revents,
			   POLLIN, after, found);
}

TEST(redirection_wakes)
{
	struct sampler sampler = sampling();
	int revents, source = must_open(&plain, 0, -1, -1, 0);
	struct waiter waiter;

	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, sampler.fd);
	must_wait(&waiter, source, 3000);
	expect_asleep(&waiter, "an idle source");
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, -1ul);
	revents = woken_by(&waiter, 200);
	if (revents == -EAGAIN)
		say_no("a sleeper sleeps on when its ring is taken away");
	if (revents != POLLHUP)
		say_broken("revents=%#x want=%#x", revents, POLLHUP);
}

TEST(close_does_not_wake)
{
	struct sampler sampler = sampling();
	int revents, number = dup(sampler.fd), left = dup(sampler.fd);
	struct waiter waiter;

	must_wait(&waiter, number, 3000);
	must_close(number);
	expect_asleep(&waiter, "close");
	cause_enabled_faults(left, sampler.ring.data_size / 2 / 16 + 1);
	revents = woken_by(&waiter, 1000);
	if (revents != POLLIN && revents != POLLNVAL)
		say_broken("a wake-up after close: revents=%#x want POLLIN or POLLNVAL", revents);
}

PROBE_MAIN
