/* SPDX-License-Identifier: MIT */
/* Threads that sample themselves, as the files of the strategy share them; not installed. */
#ifndef PM_EBB_STRATEGY_H
#define PM_EBB_STRATEGY_H

#include "ebb.h"

#ifdef PM_HAS_EBB

#define SLOTS 2048			/* samples of a thread between two polls; a power of two */

struct ebb_sample {
	uint64_t timebase, ip, periods;
	uint32_t counter;
};

/*
 * A thread and its samples: its handler writes, the reader of the session reads. It lives until
 * the thread itself has let go of it.
 */
struct ebb_thread {
	struct pm_ebb ebb;
	struct ebb_sample slots[SLOTS];
	uint64_t head, tail, dropped;	/* head and dropped are the handler's */
	pid_t tid;
	const struct pm_ebb_opts *opts;
	bool wanted;			/* to be armed, else disarmed */
	int state;			/* atomic: 1 asked, else 0 or -errno */
	bool armed;
};

/* The callback: general registers alone. */
void pm_ebb_note(void *context, const struct pm_ebb_branch *branch)
	__attribute__((visibility("hidden")));

/* enlist.c: a signal by which threads arm themselves. 0, -EBUSY when none is free, -errno. */
int pm_ebb_enlist_begin(void) __attribute__((visibility("hidden")));
void pm_ebb_enlist_end(void) __attribute__((visibility("hidden")));

/*
 * Makes a thread arm (thread->wanted) or disarm itself, and waits for it. 0; -ESRCH when it has
 * ended; -ETIME when it blocks the signal; -errno of what it tried.
 */
int pm_ebb_enlist(struct ebb_thread *thread) __attribute__((visibility("hidden")));

#endif
#endif
