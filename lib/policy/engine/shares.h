/* SPDX-License-Identifier: MIT */
/*
 * From what the events of a session tell to times that hold for a thread; not installed.
 *
 * The kernel enables an event of a thread on one CPU for as long as the thread runs anywhere (seen
 * from 3.10 to 6.18): the times of such events, added up, would be the thread's times the number of
 * CPUs, and the share of time on the PMU would be too small by that number. The thread's own time
 * is that of any one of them, and together they run for as long where nothing is multiplexed.
 */
#ifndef PM_SHARES_H
#define PM_SHARES_H

#include "events.h"

struct pm_session;

/* One event of the list, with the times as they are to be told. */
struct share {
	uint64_t value, enabled, running;
	size_t target;			/* index of whom it belongs to */
};

/* The events of one of the caller's specs on one thread, or one event of a CPU. */
struct share_target {
	uint32_t asked;
	pid_t tid;			/* -1: of a CPU */
	bool late;			/* it has events on CPUs that came later alone */
	size_t events;
	uint64_t value, enabled, running;
	uint64_t begun[2], read[2];	/* ns: the first and the last of its events */
};

struct shares {
	struct share *list;		/* as the list of events */
	struct share_target *targets;
	size_t count, target_count, room;
	struct pm_value raw[PLAN_EVENTS_MAX];	/* open events' by spec, as the kernel tells */
};

/*
 * Reads all events that are open. The memory is kept and used again, so that reading a session
 * causes no page faults between its events. -ENOMEM, -errno of read(2).
 */
int pm_shares_read(struct pm_session *session, struct shares *ret);

void pm_shares_free(struct shares *shares);

/* Sums by the caller's specs, of events that are closed as well. */
void pm_shares_sum(const struct pm_session *session, const struct shares *shares,
		   struct pm_value *ret);

#endif
