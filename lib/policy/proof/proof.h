/* SPDX-License-Identifier: MIT */
/*
 * That what is attached delivers. Something is done that must show; what cannot be caused is looked
 * at while it happens; and what is counted is held against what is sampled. Not installed.
 */
#ifndef PM_PROOF_H
#define PM_PROOF_H

#include "../engine/engine.h"
#include "account.h"
#include "canary_memory.h"
#include "cpu_time.h"
#include "standstill.h"

/* A thread that ran before the attach, and has not run since. */
struct proof_thread {
	pid_t tid;
	uint64_t used;			/* ns of CPU time, when its events had been enabled */
};

/* The thread that is to show in every ring. */
struct canary {
	pid_t tid;			/* 0: there was none */
	pid_t back;			/* it has been waited for, and is to be buried */
	bool other;			/* a thread of its own, nothing of it is delivered */
	uint64_t ended;			/* when, of perf's clock; 0: not told yet */
	uint64_t forwarded;		/* the id of an event whose record is missing; 0: none */
	bool nameless;			/* a filter forbids to rename it: samples must do */
	bool unnamed;			/* a sample of it had the id of nobody's event */
	int miscounted;			/* 1 + a CPU whose counter told not what it did; 0: none */
	uint64_t samples[PLAN_EVENTS_MAX];
};

/* How an attachment is proven. */
enum proving {
	PROVEN_NOW,
	PROVEN_BEFORE,			/* by another attach of this process */
	PROVEN_NEVER			/* as the options ask for */
};

struct proof {
	enum proving how;
	uint64_t shape;			/* as known.h has it; 0: to be proven each time */
	uint64_t unvisited;		/* rings that the proof did not reach */
	struct proof_thread *threads;
	size_t thread_count;
	uint64_t others;		/* ns of CPU time of all other threads, at that time */
	uint64_t looked_at, wait;	/* ns; the time between two looks doubles */
	uint64_t user_all, user_self;	/* ns in user mode of the process and its own thread */
	bool self_silent;
	uint32_t seen;			/* by spec: a sample has come since the attach */
	struct canary canary;
	struct canary_memory memory;	/* the canary's */
	struct account account;
	struct standstill standstill;
	struct cpu_time cpu_time;
};

/* An attach begins: nothing is known yet. */
void pm_proof_reset(struct pm_session *session);

/*
 * Events are open and enabled: they are made to show that they deliver, and counts begin. 0,
 * -ENOMEM; -EIO and the reason.
 */
int pm_proof_attached(struct pm_session *session, char *reason, size_t size);

/* Looks at the threads that have run since. -EIO and the reason: the events of one stand still. */
int pm_proof_threads(struct pm_session *session, char *reason, size_t size);

/* A thread has ended, and its events are about to be closed: they must have been enabled. */
void pm_proof_ended(struct pm_session *session, pid_t tid);

/*
 * Goes on while the session runs, now and then or `at_once`: counts threads and events that are
 * silent in the statistics.
 */
void pm_proof_follow(struct pm_session *session, bool at_once);

/* The session is about to be detached: drains it, and what is left to be judged is. */
void pm_proof_leave(struct pm_session *session);

/* Lets go of all that was kept for it: what was found and the CPU time stay. */
void pm_proof_free(struct pm_session *session);

#endif
