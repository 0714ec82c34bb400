/* SPDX-License-Identifier: MIT */
/* What strategies have in common when they tell their cost; not installed. */
#ifndef PM_COST_H
#define PM_COST_H

#include "plan.h"

/* Events that are one for each thread in sum: all for PM_ALL_THREADS, one for another target. */
static inline uint64_t pm_cost_targets(const struct pm_plan *plan, uint64_t threads)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < plan->count; i++)
		sum += plan->events[i].spec.tid == PM_ALL_THREADS ? threads : 1;
	return sum;
}

/* So many events stay open. One more descriptor is the stop channel's. */
static inline void pm_cost_hold(struct pm_cost *ret, uint64_t events)
{
	ret->opens = events;
	ret->descriptors = events + 1;
}

#endif
