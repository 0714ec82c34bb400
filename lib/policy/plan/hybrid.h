/* SPDX-License-Identifier: MIT */
/* Generic events on machines whose cores differ; not installed. */
#ifndef PM_HYBRID_H
#define PM_HYBRID_H

#include "plan.h"

/*
 * On a machine with several kinds of cores a generic event without a kind (a bare "cycles") counts
 * on one kind only. It becomes an event for each kind, `asked` of all of them is the index of the
 * caller's spec. Where one of them does not open, and where there is no room, the spec stays as it
 * is, and its `hybrid` says so. To be called once, before anything is negotiated.
 */
void pm_hybrid_expand(struct pm_plan *plan);

/* A CPU to try an event on that is opened on CPUs; 0 when none is known. */
int pm_hybrid_first(const struct pm_plan *plan, const struct plan_event *event);

/* Whether an event counts on that CPU; -1 is any. */
static inline bool pm_plan_is_on(const struct plan_event *event, int cpu)
{
	return event->pmu[0] == '\0' || cpu < 0 || (cpu < HYBRID_CPUS &&
		(event->on[cpu / 8] >> cpu % 8 & 1));
}

#endif
