/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does poll(2) of an event report, and how often? Readiness is a flag that a wake-up sets and
 * a poll takes: a second poll finds nothing though the ring is full, until the next threshold.
 * A reader that does not drain everything at each POLLIN may never wake again.
 * Observed with polls that do not wait, one page fault a wake-up.
 */
#include "probe.h"
#include "waiter.h"
#include "waking.h"

PROBE(TITLE("what poll reports, and how often")
      SINCE("2.6.31")
      POINT(unmapped_hangs_up, "poll reports POLLHUP at once for an event without a ring")
      SINCE("3.18")
      POINT(idle_is_silent, "poll reports nothing for a ring without records")
      POINT(wakeup_is_in, "poll reports POLLIN after a wake-up, and neither POLLOUT nor POLLPRI")
      POINT(told_once, "a second poll of a ring that is not drained reports nothing")
      POINT(told_again, "poll reports the next wake-up again, whether the ring was drained or not")
      POINT(draining_is_not_asked, "poll of a drained ring still reports the wake-up that came "
	    "before")
      POINT(both_are_told, "one poll of two events that are ready reports both")
      FACT(in_mask, int, "-", "revents when POLLIN and POLLRDNORM were asked for"))

FIXTURE(ring)
{
	struct sampler sampler;
};

FIXTURE_SETUP(ring)
{
	const struct perf_event_attr attr = attr_waking();

	self->sampler = must_sampler(&attr, 0, -1, 1);
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->sampler.ring);
}

static void expect(int fd, int want, const char *when)
{
	/* Where the kernel cannot interrupt itself the wake-up comes with the next tick. */
	const int revents = poll_once(fd, POLLIN, want ? 100 : 0);

	if (revents != want)
		say_broken("%s: revents=%#x want=%#x", when, revents, want);
}

TEST_F(ring, unmapped_hangs_up)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	const int fd = must_open(&attr, 0, -1, -1, 0);

	expect_hang_up(poll_once(fd, POLLIN, 0), "an event without a ring, as one that is idle");
	expect(self->sampler.fd, 0, "its twin with a ring");
}

TEST_F(ring, idle_is_silent)
{
	expect(self->sampler.fd, 0, "idle");
	cause_enabled_faults(self->sampler.fd, 1);
	expect(self->sampler.fd, POLLIN, "after a sample");
}

TEST_F(ring, wakeup_is_in)
{
	int revents;

	expect(self->sampler.fd, 0, "idle");
	cause_enabled_faults(self->sampler.fd, 1);
	revents = poll_once(self->sampler.fd, POLLIN | POLLRDNORM, 100);
	fact_int("in_mask", revents);
	if (!(revents & POLLIN) || revents & ~(POLLIN | POLLRDNORM))
		say_broken("revents=%#x want POLLIN", revents);
	cause_enabled_faults(self->sampler.fd, 1);
	revents = poll_once(self->sampler.fd, POLLIN | POLLOUT | POLLPRI, 100);
	if (revents != POLLIN)
		say_broken("asked for all: revents=%#x want=%#x", revents, POLLIN);
}

TEST_F(ring, both_are_told)
{
	const struct perf_event_attr attr = attr_waking();
	struct sampler other = must_sampler(&attr, 0, -1, 1);
	struct pollfd both[2] = { { .fd = self->sampler.fd, .events = POLLIN },
				  { .fd = other.fd, .events = POLLIN } };
	int ready, late;

	for (int i = 0; i < 5; i++) {
		cause_enabled_faults(self->sampler.fd, 1);
		cause_enabled_faults(other.fd, 1);
		ready = poll(both, 2, 1000);
		if (ready == 2 && both[0].revents == POLLIN && both[1].revents == POLLIN)
			return;
		if (ready != 1)
			break;
		/* The second wake-up may have come with a later tick; it is not lost then. */
		late = poll_once(both[both[0].revents != 0].fd, POLLIN, 1000);
		if (late != POLLIN)
			break;
	}
	say_broken("ready=%d want=2, revents=%#x and %#x", ready, both[0].revents, both[1].revents);
}

TEST_F(ring, told_once)
{
	cause_enabled_faults(self->sampler.fd, 3);
	expect(self->sampler.fd, POLLIN, "after three samples");
	if (!pm_ring_pending(&self->sampler.ring))
		say_unknown("the ring holds nothing to report again");
	expect(self->sampler.fd, 0, "second poll, nothing drained");
}

TEST_F(ring, told_again)
{
	for (int i = 0; i < 3; i++) {
		cause_enabled_faults(self->sampler.fd, 1);
		expect(self->sampler.fd, POLLIN, "next sample, nothing drained");
	}
	count_records(&self->sampler.ring, 0);
	cause_enabled_faults(self->sampler.fd, 1);
	expect(self->sampler.fd, POLLIN, "next sample, drained");
}

TEST_F(ring, draining_is_not_asked)
{
	cause_enabled_faults(self->sampler.fd, 3);
	if (count_records(&self->sampler.ring, PERF_RECORD_SAMPLE) != 3)
		say_unknown("three faults are not three records");
	expect(self->sampler.fd, POLLIN, "drained before the poll");
	expect(self->sampler.fd, 0, "second poll");
}

PROBE_MAIN
