/* SPDX-License-Identifier: MIT */
/* Rings that are mapped: of a session, or of a sampler; not installed. */
#ifndef PM_RINGS_H
#define PM_RINGS_H

#include "../plan/cpus.h"
#include "events.h"
#include "liveness.h"

struct session_ring {
	struct pm_ring ring;		/* base NULL: not in use */
	int fd;				/* of its leader, to be polled; -1: hung up */
	int cpu;
	pid_t tid;			/* of its leader */
	uint32_t spec;			/* of its leader */
	bool canary;			/* the canary's record has come */
	uint64_t time;			/* ns: of its last sample, or record */
	bool unvisited;			/* it must not run there, or nothing needs to show */
	uint32_t sampled;		/* by spec: its samples have come */
	/* Of a sampler, which delivers the records of all rings by their times: */
	const struct perf_event_header *held;	/* read and not delivered yet; `time` is its */
	uint64_t released;		/* the tail as the kernel knows it */
	uint64_t until;			/* what lies behind this position is of the next turn */
	bool dead;			/* the CPU went away */
	struct cpu_liveness liveness;
};

struct ring_set {
	struct session_ring *list;
	size_t count, room;
	unsigned int *pages;		/* of data, each; becomes less where that much is refused */
};

/* Maps the ring of a leader with `pages` data pages. 0 or -errno. */
int pm_rings_map(struct ring_set *rings, const struct session_event *leader, size_t pages);

/*
 * The same with as many pages as may be locked: that memory is shared with others of this user, so
 * its limit shows only by trying.
 */
int pm_rings_map_less(struct ring_set *rings, const struct session_event *leader);

/*
 * Events from `first` on are open, each on one of these CPUs. Maps a ring on each CPU, with as many
 * pages as may be locked, and forwards to it what the other events of the CPU tell.
 */
int pm_rings_share(struct ring_set *rings, const struct event_list *events,
		   const struct pm_cpus *cpus, size_t first, struct pm_diag *diag);

/* Unmaps what was mapped since there were `count`. */
void pm_rings_close_since(struct ring_set *rings, size_t count);

/* Closed rings must not pile up: the others get new places. */
void pm_rings_forget_closed(struct ring_set *rings);

/* Unmaps all and frees the list. In a forked child nothing is mapped, and nothing unmapped. */
void pm_rings_free(struct ring_set *rings, bool forked);

#endif
