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

/* Broken unless a waiter still sleeps when another one, woken by a later sample, has run. */
static inline void expect_asleep(struct waiter *waiter, const char *when)
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
	revents = waiter_woke(waiter, 2);
	if (revents != -EAGAIN)
		say_broken("%s: woken with revents=%#x", when, revents);
	pm_ring_close(&sampler.ring);
	close(sampler.fd);
}

#endif
