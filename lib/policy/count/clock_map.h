/* SPDX-License-Identifier: MIT */
/* Clock maps as their files share them; not installed. */
#ifndef PM_CLOCK_MAP_H
#define PM_CLOCK_MAP_H

#include "user_page.h"

#define CLOCK_ROUNDS 32		/* tries to catch an instant; the tightest counts */

/* One instant of both clocks. */
struct clock_point {
	uint64_t stamp, time, half_width;
};

struct clock_cpu {
	struct clock_point first, last;	/* `first` means something when `points` is 2 */
	unsigned int points;		/* 0: not measured; at most 2 */
	uint64_t jumps;
};

struct pm_clock_map {
	int records, wanted;
	enum pm_clock_source source;
	struct clock_cpu *cpus;		/* one only, when all CPUs have the same clock */
	size_t cpu_count;
	const struct pm_registers *registers;
	int fd;				/* of the event whose page tells the time; -1: none */
	struct pm_ring ring;
};

/*
 * Takes the tightest of what was caught (at: stamp; before, after: time). Returns 1 when it
 * contradicts what was known, 0, or -EAGAIN when nothing was caught.
 */
int pm_clock_learn(struct clock_cpu *cpu, const struct pm_clock_bracket *caught, size_t count);

/* Measures all CPUs into `cpus`, which has map->cpu_count elements. Returns as pm_clock_learn. */
int pm_clock_catch(struct pm_clock_map *map, struct clock_cpu *cpus, struct pm_diag *diag);

/* Opens and tests the page. 0, or -errno: it cannot be used. */
int pm_clock_open_page(struct pm_clock_map *map);

#endif
