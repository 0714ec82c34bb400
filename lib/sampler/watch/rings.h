/* SPDX-License-Identifier: MIT */
/* The rings of a sampler, one a CPU, and the events that write into them; not installed. */
#ifndef PM_SAMPLER_RINGS_H
#define PM_SAMPLER_RINGS_H

#include "watch.h"

/* Adds an event that is open. Returns its descriptor, or -errno with nothing left open. */
int pm_watch_add(struct pm_sampler *sampler, const struct session_event *event);

/* Closes what was opened for that process (its serial), or on that CPU (serial 0). */
void pm_watch_close_of(struct pm_sampler *sampler, uint64_t root, int cpu);

/* The ring of a CPU that is there; NULL: none. */
struct session_ring *pm_watch_ring(const struct pm_sampler *sampler, int cpu);

/* Maps the ring of an event with as many pages as may be locked, and polls it. 0 or -errno. */
int pm_watch_map(struct pm_sampler *sampler, int fd, int cpu);

/* Whether there is one, also of a CPU that went away. */
bool pm_watch_has_ring(const struct pm_sampler *sampler, int cpu);

/* The CPU went away. Its ring is nobody's from here on; what it holds is delivered. */
void pm_watch_let_go(struct pm_sampler *sampler, int cpu);

/* Rings whose CPU went away and that are empty: unmapped, and their events closed. */
void pm_watch_drop_dead(struct pm_sampler *sampler);

/* Unmaps and closes everything. */
void pm_watch_close_all(struct pm_sampler *sampler);

#endif
