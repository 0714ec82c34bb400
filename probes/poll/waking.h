/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samplers that wake whoever polls them, and who is not woken. Included behind probe.h.
 */
#ifndef WAKING_H
#define WAKING_H

#include "waiter.h"

/* A sampler of page faults each of which wakes the reader. */
static inline struct perf_event_attr attr_waking(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.wakeup_events = 1;
	return attr;
}

/* Wake another waiter by a sample, and see it run: had an earlier wake-up come, its waiter would
 * have run by then. Unknown when this machine does not get to it. */
static inline void must_wake_witness(void)
{
	const struct perf_event_attr attr = attr_waking();
	struct waiter witness;
	struct sampler sampler;
	int revents;

	sampler = must_sampler(&attr, 0, -1, 1);
	must_wait(&witness, sampler.fd, 5000);
	cause_enabled_faults(sampler.fd, 1);
	revents = waiter_woke(&witness, 2000);
	if (revents != POLLIN)
		say_unknown("a sample does not wake a witness: revents=%#x", revents);
	pm_ring_close(&sampler.ring);
	close(sampler.fd);
}

/* Broken unless a waiter still sleeps when another one, woken by a later sample, has run. */
static inline void expect_asleep(struct waiter *waiter, const char *when)
{
	int revents;

	must_wake_witness();
	revents = waiter_woke(waiter, 2);
	if (revents != -EAGAIN)
		say_broken("%s: woken with revents=%#x", when, revents);
}

/* What woke a waiter, which has that long and at least until another one has been woken and run;
 * -EAGAIN when it sleeps on. */
static inline int woken_by(struct waiter *waiter, int within_ms)
{
	int revents = waiter_woke(waiter, within_ms);

	if (revents != -EAGAIN)
		return revents;
	must_wake_witness();
	return waiter_woke(waiter, 20);
}

#endif
