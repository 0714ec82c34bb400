/* SPDX-License-Identifier: MIT */
/* What is known of the clock of one CPU; not installed. */
#ifndef PM_CLOCK_CPU_H
#define PM_CLOCK_CPU_H

#include "../../perfmodes.h"
#include "../../pm_sys.h"

#define CLOCK_ROUNDS 32		/* readings of one instant; the tightest counts */

/* One instant of both clocks. */
struct clock_point {
	uint64_t stamp, time, half_width;
};

struct clock_cpu {
	struct clock_point first, last;	/* `first` means something when `points` is 2 */
	unsigned int points;		/* 0: not measured; at most 2 */
	uint64_t jumps;
};

/*
 * Takes the tightest reading (at: stamp; before, after: time). Returns 1 when it contradicts what
 * was known, 0, or -EAGAIN when there is no reading.
 */
int pm_clock_learn(struct clock_cpu *cpu, const struct pm_clock_bracket *caught, size_t count);

/* A stamp of this CPU as a time, and the other way round, with the error. */
struct pm_instant pm_clock_cpu_time(const struct clock_cpu *cpu, uint64_t stamp);
struct pm_instant pm_clock_cpu_stamp(const struct clock_cpu *cpu, uint64_t time);

/* By how much the clocks drift apart, and how far the truth may be from it. */
double pm_clock_cpu_drift(const struct clock_cpu *cpu, double *slack);

#endif
