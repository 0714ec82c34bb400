/* SPDX-License-Identifier: MIT */
/* From rings to the listener; not installed. */
#ifndef PM_SAMPLER_RECORDS_H
#define PM_SAMPLER_RECORDS_H

#include "watch.h"

/* One record of that ring to the table of processes and the listener. */
void pm_watch_deliver(struct pm_sampler *sampler, const struct session_ring *ring,
		      const struct perf_event_header *record);

/*
 * Delivers what is in the rings up to `limit` ns, in the order of time, and at most `most` records
 * (0: any number). Returns how many.
 */
int pm_watch_merge(struct pm_sampler *sampler, uint64_t limit, uint64_t most);

/* Whether a ring is so full that its records must not wait for older ones. */
bool pm_watch_is_pressed(struct pm_sampler *sampler);

/* Whether records are left in some ring. */
bool pm_watch_is_waiting(const struct pm_sampler *sampler);

#endif
