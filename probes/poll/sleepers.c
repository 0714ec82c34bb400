/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who wakes where several wait for one ring? A sleeper in poll of any event that shares it, be it
 * target or source. Of two sleepers both are woken, but there is one flag to be had: one may find
 * nothing and sleep on, so let one thread poll.
 * Observed with threads asleep in poll(2) and one sample.
 */
#include "probe.h"
#include "redirection.h"
#include "waiter.h"
#include "waking.h"

PROBE(TITLE("threads asleep in poll of a shared ring")
      SINCE("2.6.35")
      POINT(target_wakes, "a thread asleep in poll of the target wakes")
      POINT(source_wakes, "a thread asleep in poll of the source wakes")
      POINT(one_of_two_wakes, "of two threads asleep in poll of one event at least one wakes"))

static void wake_sleeper(int polled, int source)
{
	struct waiter waiter;
	int revents;

	must_wait(&waiter, polled, 5000);
	cause_enabled_faults(source, 1);
	revents = woken_by(&waiter, 2000);
	if (!revents)
		say_unknown("poll had timed out before the sample");
	if (revents != POLLIN)
		say_broken("a sample of the source: revents=%#x want=%#x", revents, POLLIN);
}

TEST(target_wakes)
{
	const struct perf_event_attr attr = attr_waking();
	const struct redirection pair = must_redirect(&attr);

	wake_sleeper(pair.target.fd, pair.source);
}

TEST(source_wakes)
{
	const struct perf_event_attr attr = attr_waking();
	const struct redirection pair = must_redirect(&attr);

	wake_sleeper(pair.source, pair.source);
}

TEST(one_of_two_wakes)
{
	const struct perf_event_attr attr = attr_waking();
	const struct redirection pair = must_redirect(&attr);
	struct waiter waiters[2];
	int revents[2] = { -EAGAIN, -EAGAIN };

	must_wait(&waiters[0], pair.target.fd, 5000);
	must_wait(&waiters[1], pair.target.fd, 5000);
	cause_enabled_faults(pair.source, 1);
	for (const uint64_t end = now_ns() + 2000000000ull; now_ns() < end; ) {
		revents[0] = waiter_woke(&waiters[0], 1);
		revents[1] = waiter_woke(&waiters[1], 1);
		if (revents[0] != -EAGAIN || revents[1] != -EAGAIN)
			break;
	}
	for (int i = 0; i < 2 && revents[0] == -EAGAIN && revents[1] == -EAGAIN; i++)
		revents[i] = woken_by(&waiters[i], 1);
	if (revents[0] != POLLIN && revents[1] != POLLIN)
		say_broken("revents=%#x and %#x want=%#x", revents[0], revents[1], POLLIN);
}

PROBE_MAIN
