/* SPDX-License-Identifier: MIT */
/* Samples taken by signal handlers, on their way to the reader; not installed. */
#ifndef PM_TICKS_H
#define PM_TICKS_H

#include <signal.h>

#include "../session/attach.h"

#define TICK_SLOTS 8192		/* samples between two polls; a power of two */
#define TICK_FOLLOW_NS 50000000	/* between two listings of threads */

/* One signal as its handler saw it. */
struct tick {
	uint64_t time, ip, address;
	uint64_t count;			/* occurrences it stands for */
	uint32_t tid, cpu;
	int32_t source;			/* what `accept` made of it */
};

/* A slot is free for position p when turn == p, and filled when turn == p + 1. */
struct tick_slot {
	uint64_t turn;
	struct tick tick;
};

/* The beginning of whatever a strategy keeps for itself. */
struct ticks {
	struct tick_slot slots[TICK_SLOTS];
	uint64_t head, tail;
	uint64_t dropped;
	int number;			/* of the signal */
	pid_t pid;			/* whose they are: a forked child gets no signals of ours */
	struct sigaction before;
	bool proves;			/* a deed of the calling thread must give a sample */
	/* In the handler: false for a signal of somebody else; else fills count and source. */
	bool (*accept)(struct ticks *ticks, const siginfo_t *info, struct tick *ret);
	/* In the reader: false for one that is not to be delivered. Sets event and period. */
	bool (*describe)(struct pm_session *session, const struct tick *tick,
			 struct pm_observed *ret);
	void (*follow)(struct pm_session *session);
	void (*undo)(struct pm_session *session);
};

/* Zeroed memory of that size, which begins with ticks, ready to be used. NULL: no memory. */
void *pm_ticks_create(size_t size);

/*
 * From now on the signal's handler fills these ticks. One at a time in a process, and only when
 * nobody else uses the signal: -EBUSY.
 */
int pm_ticks_install(struct ticks *ticks, int number);

/* Gives the signal back and waits until no handler is at work. */
void pm_ticks_remove(struct ticks *ticks);

/* True when it is time to list the threads again. */
bool pm_ticks_is_due(struct pm_session *session);

#endif
