/* SPDX-License-Identifier: MIT */
/* What events have counted; not installed. */
#ifndef PM_SUMS_H
#define PM_SUMS_H

#include "events.h"

/* Of events that are closed already. */
struct sums {
	struct pm_value closed[SPECS_MAX];	/* by spec */
	uint64_t lost;			/* records that these events say the kernel dropped */
};

/* Adds what an event counted, before its descriptor goes. */
void pm_sums_fold(struct sums *sums, const struct event_list *events,
		  const struct session_event *event);

/* The same, and closes it; `also` has sums by spec that what it counted is added to, or is NULL. */
void pm_sums_close(struct sums *sums, const struct event_list *events,
		   struct session_event *event, struct pm_value *also);

/*
 * Fills the sums of all events, closed or open, by spec: PLAN_EVENTS_MAX of them, for the one
 * behind counts nothing. -errno of read(2).
 */
int pm_sums_read(const struct sums *sums, const struct event_list *events, struct pm_value *ret);

/* The records that the kernel dropped, by what all events say. */
uint64_t pm_sums_lost(const struct sums *sums, const struct event_list *events);

#endif
