/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the host have time for interrupts? An emulator raises those of a PMU by a timer of its own,
 * as those of the CPU's timer. Where it is starved both come late: 24 samples of 178 periods beside
 * a timer that lost as many, seen on 6.1 for arm64. Included behind probe.h.
 */
#ifndef LATE_H
#define LATE_H

#define TICK 2000000		/* ns */

/* An event of the CPU's timer, beside what is asked about. */
struct timer {
	struct sampler sampler;
	uint64_t start, samples;	/* its count at the window's start; samples since then */
};

/* Start it, which the test needs. */
static inline struct timer must_timer(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);

	attr.sample_period = TICK;
	attr.sample_type = PERF_SAMPLE_TID;
	return (struct timer){ .sampler = must_run_sampler(&attr, 0, -1, 1) };
}

/* To be called before its ring of one page is full: each 200 ms. */
static inline void take_ticks(struct timer *timer)
{
	timer->samples += count_records(&timer->sampler.ring, PERF_RECORD_SAMPLE);
}

/* A window begins. */
static inline void restart_timer(struct timer *timer)
{
	take_ticks(timer);
	timer->samples = 0;
	timer->start = must_count(timer->sampler.fd);
}

/* Have more than a quarter of its interrupts not come in the time it has counted? */
static inline bool is_late(struct timer *timer)
{
	const uint64_t want = (must_count(timer->sampler.fd) - timer->start) / TICK;

	take_ticks(timer);
	return 4 * timer->samples < 3 * want;
}

#endif
