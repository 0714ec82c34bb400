/* SPDX-License-Identifier: MIT */
/* Whether the events of a CPU have died with it; not installed. */
#ifndef PM_LIVENESS_H
#define PM_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_liveness {
	int own;			/* a descriptor of its own to tell by; 0: none, or -errno */
	uint64_t enabled, asked_at;	/* ns: how long its events have counted when last asked */
};

/*
 * The time for which an event on a CPU has been enabled goes on while the CPU is online. That the
 * CPU was away between two looks shows here alone: the time stands still for ever. `fd` is of one
 * of its events, with that read_format; a cgroup's stands still while no task of it runs there, so
 * that another one has to tell: -1. `now`: ns.
 */
bool pm_liveness_lost(struct cpu_liveness *liveness, int cpu, int fd, uint64_t read_format,
		      uint64_t now);

void pm_liveness_stop(struct cpu_liveness *liveness);

#endif
