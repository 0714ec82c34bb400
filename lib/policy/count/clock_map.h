/* SPDX-License-Identifier: MIT */
/* Clock maps as their files share them; not installed. */
#ifndef PM_CLOCK_MAP_H
#define PM_CLOCK_MAP_H

#include "clock_cpu.h"
#include "user_page.h"

struct pm_clock_map {
	int records, wanted;
	enum pm_clock_source source;
	struct clock_cpu *cpus;		/* one only, when all CPUs have the same clock */
	size_t cpu_count;
	const struct pm_registers *registers;
	int fd;				/* of the event whose page tells the time; -1: none */
	pid_t pid;			/* of the process that made it, and has its page */
	struct pm_ring ring;
};

/* Measures all CPUs into `cpus`, which has map->cpu_count elements. Returns as pm_clock_learn. */
int pm_clock_catch(struct pm_clock_map *map, struct clock_cpu *cpus, struct pm_diag *diag);

/* Opens and tests the page. 0, or -errno: it cannot be used. */
int pm_clock_open_page(struct pm_clock_map *map);

#endif
