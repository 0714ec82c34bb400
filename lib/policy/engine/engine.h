/* SPDX-License-Identifier: MIT */
/*
 * What is attached: events, rings, threads and CPUs, as the engine, the proof, the session and the
 * strategies share it; not installed.
 */
#ifndef PM_ENGINE_H
#define PM_ENGINE_H

#include <errno.h>
#include <unistd.h>

#include "../plan/plan.h"
#include "events.h"
#include "ids.h"
#include "late_cpus.h"
#include "pollable.h"
#include "quiet.h"
#include "rings.h"
#include "shares.h"
#include "stop.h"
#include "sums.h"
#include "threads.h"

struct proof;

/* What the engine asks of the rooms above it. */
struct engine_calls {
	/* Delivers what is in the rings now. */
	int (*drain)(struct pm_session *session);
	/*
	 * The strategy in use can do no more, for the reason given: what has come is delivered, and
	 * the plan's next strategy is attached. Statistics go on. 0; -ENOTSUP, -errno: the session
	 * is detached.
	 */
	int (*go_on)(struct pm_session *session, const char *why);
};

struct pm_session {
	struct pm_plan *plan;
	struct pm_plan *own_plan;	/* the same, where it goes with the session; or NULL */
	const struct strategy *strategy;	/* the one in use */
	const struct operations *operations;	/* its own, or another's for a broker */
	const struct engine_calls *calls;
	void *own;			/* what the strategy keeps for itself; NULL: nothing */
	struct pm_listener listener;
	void *context;
	struct pm_stats stats;
	struct pm_format format;	/* of the first event */
	bool mixed;			/* some samples tell their periods, others do not */
	struct pm_member group[PLAN_EVENTS_MAX];	/* of the sample that is delivered */
	struct event_list events;
	struct event_ids ids;
	struct ring_set rings;
	struct threads threads;
	struct late_cpus cpus;
	struct sums sums;
	struct shares shares;		/* of the last reading */
	struct proof *proof;		/* that it delivers: ../proof/proof.h */
	struct stop_channel stop;
	struct pollable pollable;
	struct quiet quiet;
	bool attached;
	bool follows;			/* new threads are looked for while polling */
	uint64_t followed_at;		/* ns; 0: to be looked at now */
	bool was_full;			/* a ring was, so records may have been lost */
	uint64_t latest;		/* ns: no sample can be later; 0: its clock is not known */
	bool draining;			/* the listener is at work: rings must stay */
	pid_t pid, self;		/* of the process and thread that attached */
};

/* Whether it can be worked with: 0, -ENOTCONN, or -ECHILD in a forked child. */
static inline int pm_session_check(const struct pm_session *session)
{
	if (!session->attached)
		return -ENOTCONN;
	return session->pid == getpid() ? 0 : -ECHILD;
}

#endif
