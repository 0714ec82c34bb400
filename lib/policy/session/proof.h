/* SPDX-License-Identifier: MIT */
/* What the canary cannot cause is looked at while it happens; not installed. */
#ifndef PM_PROOF_H
#define PM_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pm_session;

/* A thread that ran before the attach, and has not run since. */
struct proof_thread {
	pid_t tid;
	uint64_t used;			/* ns of CPU time, when its events had been enabled */
};

struct proof {
	struct proof_thread *threads;
	size_t thread_count;
	uint64_t others;		/* ns of CPU time of all other threads, at that time */
	uint64_t looked_at, wait;	/* ns; the time between two looks doubles */
	uint64_t user_all, user_self;	/* ns in user mode of the process and its own thread */
	bool self_silent;
	uint32_t seen;			/* by spec: a sample has come since the attach */
};

/* Events are open and enabled: notes which threads have to show that theirs are. -ENOMEM. */
int pm_proof_begin(struct pm_session *session);

/* Looks at the threads that have run since. -EIO and the reason: the events of one stand still. */
int pm_proof_threads(struct pm_session *session, char *reason, size_t size);

/* A thread has ended, and its events are about to be closed: they must have been enabled. */
void pm_proof_ended(struct pm_session *session, pid_t tid);

/* The attach is done: says in the plan and the statistics what could not be proved. */
void pm_proof_tell(struct pm_session *session);

/*
 * Goes on while the session runs, now and then or `at_once`: counts threads and events that are
 * silent in the statistics.
 */
void pm_proof_follow(struct pm_session *session, bool at_once);

void pm_proof_free(struct proof *proof);

#endif
