/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timer beside a test. Where an event's timer gave nothing, it shows whether this machine let any
 * timer through at that time. Included behind probe.h.
 */
#ifndef TICKER_H
#define TICKER_H

/* A timer that interrupts every few milliseconds. */
struct ticker {
	int fd;
	unsigned int ticks;
};
/* Start a timer, which the test needs. */
void must_tick(struct ticker *ticker, unsigned int every_ms);
/* How many of its interrupts have been seen so far. Those that came together, as they do after the
 * machine stood still, count as one. */
unsigned int ticker_count(struct ticker *ticker);

#endif
