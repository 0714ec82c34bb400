/* SPDX-License-Identifier: MIT */
/*
 * Time that events have run beside the time that they must have run since the attach. Not
 * installed.
 */
#ifndef PM_STANDSTILL_H
#define PM_STANDSTILL_H

#include <stdbool.h>
#include <stdint.h>

struct event_list;
struct pm_session;
struct session_event;

struct standstill {
	uint64_t process, thread;	/* ns of CPU time, when the attach was done */
};

/*
 * The time of an enabled event of a CPU goes on from one look to the next, or by the tick of a
 * coarse clock, while the CPU is online. A cgroup's does while a task of it runs there, as this one
 * may. True: it stands, and did for longer than a tick.
 */
bool pm_standstill_event(const struct event_list *events, const struct session_event *event);

/* The attach is done: the time begins that the next function looks at. */
void pm_standstill_attached(struct pm_session *session);

/*
 * Whether the events of a spec have run for less than half of the time for which what they observe
 * has, or one of a CPU stands still at this moment. False also where that cannot be told: of events
 * that may be multiplexed, or not read.
 */
bool pm_standstill_of(const struct pm_session *session, uint32_t spec);

#endif
