/* SPDX-License-Identifier: MIT */
/* A session as its files and the strategies share it: its parts; not installed. */
#ifndef PM_SESSION_H
#define PM_SESSION_H

#include <errno.h>
#include <unistd.h>

#include "../plan/plan.h"
#include "account.h"
#include "canary_memory.h"
#include "cpu_time.h"
#include "events.h"
#include "ids.h"
#include "pollable.h"
#include "proof.h"
#include "rings.h"
#include "shares.h"
#include "standstill.h"
#include "stop.h"
#include "sums.h"
#include "threads.h"

/* A CPU that came after the attach, and each one whose events die with it: see late_cpus.c. */
struct session_cpu {
	int cpu;
	bool refused;			/* it could not be attached; that is told once */
	bool ended;			/* events on it died, and counted this: */
	struct pm_value folded[PLAN_EVENTS_MAX];
	int pulse;			/* a descriptor of its own to tell by; -1: none */
	uint64_t enabled, asked_at;	/* ns: how long its events have counted when last asked */
	struct threads threads;		/* of listings for this CPU */
};

struct late_cpus {
	struct session_cpu *list;
	size_t count;
	uint64_t seen_at;		/* ns; 0: to be looked at now */
};

/* What a thread has done: page faults, and turns on a CPU that it gave away. */
struct canary_work {
	uint64_t faults, switches;
	bool known;
};

/* The thread that is to show in every ring: see canary.c. */
struct canary {
	struct errand *out;		/* it was sent before it is waited for: canary_thread.c */
	struct errand *back;		/* it has been waited for, and is to be buried */
	pid_t tid;			/* 0: there was none */
	bool other;			/* a thread of its own, nothing of it is delivered */
	uint64_t ended;			/* when, of perf's clock; 0: not told yet */
	uint64_t forwarded;		/* the id of an event of its own; 0: there was none */
	bool forwarding;		/* a record of that event has come */
	bool nameless;			/* a filter forbids to rename it: samples must do */
	bool misplaced;			/* a record came in the ring of another CPU */
	bool unnamed;			/* a sample of it had the id of nobody's event */
	bool strange;			/* a record of it came by another thread's event */
	int miscounted;			/* 1 + a CPU whose counter told not what it did; 0: none */
	struct canary_work work;	/* its own, where there are no rings */
	uint64_t samples[PLAN_EVENTS_MAX];
	uint64_t sampled[PLAN_EVENTS_MAX];	/* the sum of their periods */
	uint64_t addressed[PLAN_EVENTS_MAX];	/* of those with an address that it touched */
};

struct pm_session {
	struct pm_plan *plan;
	const struct strategy *strategy;	/* the one in use */
	const struct operations *operations;	/* its own, or another's for a broker */
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
	struct cpu_time cpu_time;
	struct account account;
	struct proof proof;
	struct standstill standstill;
	struct canary canary;
	struct canary_memory canary_memory;
	struct stop_channel stop;
	struct pollable pollable;
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

#ifdef __powerpc64__
/*
 * The strategy in use can do no more, for the reason given: what has come is delivered, and the
 * plan's next strategy is attached. Statistics go on. 0; -ENOTSUP, -errno: the session is detached.
 */
int pm_session_go_on(struct pm_session *session, const char *why);

#endif
#endif
