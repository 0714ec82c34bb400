/* SPDX-License-Identifier: MIT */
/* The rings of a sampler, one a CPU, and the events that write into them; not installed. */
#ifndef PM_SAMPLER_RINGS_H
#define PM_SAMPLER_RINGS_H

#include "watch.h"

/*
 * Opens the first `count` events of the plan on a target: a CPU, with tid -1, or a thread on one.
 * What they tell goes to the ring of `output`. Left out is what the CPU does not have, and who is
 * led by that. 0 or -errno, with some open yet.
 */
int pm_watch_open_on(struct pm_sampler *sampler, const struct session_event *target, int output,
		     size_t count);

/* The attr of side-band, which tells nothing: for an event that lends its ring, or proves it. */
void pm_watch_no_side(const struct pm_sampler *sampler, struct perf_event_attr *ret);

/* Closes what was opened for that process (its serial), or on that CPU (serial 0). */
void pm_watch_close_of(struct pm_sampler *sampler, uint64_t root, int cpu);

/* Maps the ring of an event with as many pages as may be locked, and polls it. 0 or -errno. */
int pm_watch_map(struct pm_sampler *sampler, int fd, int cpu);

/* Whether there is one, also of a CPU that went away. */
bool pm_watch_has_ring(const struct pm_sampler *sampler, int cpu);

/* Its CPU went away. The ring is nobody's from here on; what it holds is delivered. */
void pm_watch_let_go(struct pm_sampler *sampler, struct session_ring *ring);

/* Rings whose CPU went away and that are empty: unmapped, and their events closed. */
void pm_watch_drop_dead(struct pm_sampler *sampler);

/* Unmaps and closes everything. */
void pm_watch_close_all(struct pm_sampler *sampler);

#endif
