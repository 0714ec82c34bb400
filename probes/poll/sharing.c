/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the events that share a ring should be polled? Each of them is woken by the records of
 * all, but the ready flag belongs to the ring: whoever polls first takes it. So poll one, from one
 * thread.
 * Observed with polls that do not wait, and with two threads that wait for one event.
 */
#include "probe.h"

PROBE(TITLE("polling a ring that several share")
      SINCE("2.6.35")
      POINT(target_reports_source, "poll of the target reports a sample of its source")
      POINT(source_reports_too, "poll of the source reports it as well")
      POINT(flag_is_shared, "what one of them has reported the other does not report")
      POINT(target_wakes_sleeper, "a thread asleep in poll of the target wakes")
      POINT(source_wakes_sleeper, "a thread asleep in poll of the source wakes")
      POINT(one_of_two_wakes, "of two threads asleep in poll of one event at least one wakes")
      FACT(both_woke, bool, "-", "whether both of the two threads woke (a race for one flag)"))

FIXTURE(pair)
{
	struct watch target;
	int source;
};

FIXTURE_SETUP(pair)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.wakeup_events = 1;
	self->target = must_watch(&attr, 0, -1, 1);
	self->source = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, self->target.fd);
}

FIXTURE_TEARDOWN(pair)
{
	close(self->source);
}

static void first_then_second(struct __test_metadata *_metadata, int source, int first, int second,
			      int want_second)
{
	const int idle = poll_once(first, POLLIN, 0);
	int revents[2];

	sample_faults(source, 1);
	revents[0] = poll_once(first, POLLIN, 0);
	revents[1] = poll_once(second, POLLIN, 0);
	if (idle || revents[0] != POLLIN || revents[1] != want_second)
		broken("revents=%#x idle, %#x after the sample, %#x from the other", idle,
		       revents[0], revents[1]);
}

TEST_F(pair, target_reports_source)
{
	first_then_second(_metadata, self->source, self->target.fd, self->target.fd, 0);
}

TEST_F(pair, source_reports_too)
{
	first_then_second(_metadata, self->source, self->source, self->source, 0);
}

TEST_F(pair, flag_is_shared)
{
	first_then_second(_metadata, self->source, self->target.fd, self->source, 0);
	first_then_second(_metadata, self->source, self->source, self->target.fd, 0);
}

static void wake_sleeper(struct __test_metadata *_metadata, int polled, int source)
{
	struct waiter waiter;
	int revents = waiter_start(&waiter, polled, 5000);

	if (revents)
		cannot_tell("no waiting thread: %s", errno_name(revents));
	sample_faults(source, 1);
	revents = waiter_woke(&waiter, 2000);
	if (revents != POLLIN)
		broken("a sample of the source: revents=%#x want=%#x", revents, POLLIN);
}

TEST_F(pair, target_wakes_sleeper)
{
	wake_sleeper(_metadata, self->target.fd, self->source);
}

TEST_F(pair, source_wakes_sleeper)
{
	wake_sleeper(_metadata, self->source, self->source);
}

TEST_F(pair, one_of_two_wakes)
{
	struct waiter waiters[2];
	int revents[2];

	for (int i = 0; i < 2; i++)
		if (waiter_start(&waiters[i], self->target.fd, 5000))
			cannot_tell("no waiting thread");
	sample_faults(self->source, 1);
	for (uint64_t end = now_ns() + 2000000000ull; now_ns() < end; ) {
		revents[0] = waiter_woke(&waiters[0], 1);
		revents[1] = waiter_woke(&waiters[1], 1);
		if (revents[0] != -EAGAIN || revents[1] != -EAGAIN)
			break;
	}
	for (int i = 0; i < 2; i++)
		if (revents[i] == -EAGAIN)
			revents[i] = waiter_woke(&waiters[i], 5);
	fact_bool("both_woke", revents[0] == POLLIN && revents[1] == POLLIN);
	if (revents[0] != POLLIN && revents[1] != POLLIN)
		broken("revents=%#x and %#x want=%#x", revents[0], revents[1], POLLIN);
}

PROBE_MAIN
