/* SPDX-License-Identifier: MIT */
/* The rings of a sampler, one a CPU, and the events that write into them; not installed. */
#ifndef PM_SAMPLER_RINGS_H
#define PM_SAMPLER_RINGS_H

#include "watch.h"

/*
 * Adds an event that is open; its id is asked for. 0, -errno; the descriptor is closed on failure.
 */
int pm_watch_add(struct pm_sampler *sampler, const struct opened *opened);

/* The event of that id; NULL: none of ours. */
const struct opened *pm_watch_find(const struct pm_sampler *sampler, uint64_t id);

/* Closes what was opened since there were `count`. */
void pm_watch_close_since(struct pm_sampler *sampler, size_t count);

/* Closes what was opened for that process (its serial), or on that CPU (serial 0). */
void pm_watch_close_of(struct pm_sampler *sampler, uint64_t root, int cpu);

/*
 * Sums over what is open and what was closed, one for each event, that of side-band last. 0 or
 * -errno.
 */
int pm_watch_sum(const struct pm_sampler *sampler, struct pm_value *sums);

/* The ring of a CPU that is there; NULL: none. */
struct watch_ring *pm_watch_ring(const struct pm_sampler *sampler, int cpu);

/* Maps the ring of an event with as many pages as may be locked, and polls it. 0 or -errno. */
int pm_watch_map(struct pm_sampler *sampler, int fd, int cpu, bool keeper);

/* Whether there is one, also of a CPU that went away. */
bool pm_watch_has_ring(const struct pm_sampler *sampler, int cpu);

/* The CPU went away. Its ring is nobody's from here on; what it holds is delivered. */
void pm_watch_let_go(struct pm_sampler *sampler, int cpu);

/* Rings whose CPU went away and that are empty: unmapped, and their events closed. */
void pm_watch_drop_dead(struct pm_sampler *sampler);

/* What the events could not write, for the statistics; once, at the end. */
void pm_watch_count_lost(struct pm_sampler *sampler);

/* Unmaps and closes everything. */
void pm_watch_close_all(struct pm_sampler *sampler);

#endif
