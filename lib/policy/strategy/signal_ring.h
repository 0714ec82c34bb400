/* SPDX-License-Identifier: MIT */
/*
 * Samples taken by signal handlers, on their way to the reader; not installed.
 *
 * What a strategy with such samples keeps for itself (pm_session.own) begins with a signal ring,
 * and its operations `accept` and `describe` say which signals are samples, and of what.
 */
#ifndef PM_SIGNAL_RING_H
#define PM_SIGNAL_RING_H

#include <signal.h>

#include "../proof/proof.h"
#include "frames.h"

#define SIGNAL_RING_SLOTS 8192	/* samples between two polls; a power of two */

/* One signal as its handler saw it. */
struct signal_sample {
	uint64_t time, ip;
	uint64_t count;			/* samples it stands for */
	uint64_t weight;		/* events or ns since the last one */
	uint32_t tid, cpu;
	int32_t source;			/* what `accept` made of it */
	uint32_t depth;			/* callers in `chain` */
	uint64_t chain[FRAMES_DEPTH];
};

/* A slot is free for position p when turn == p, and filled when turn == p + 1. */
struct signal_slot {
	uint64_t turn;
	struct signal_sample sample;
};

struct signal_ring {
	struct signal_slot slots[SIGNAL_RING_SLOTS];
	uint64_t head, tail;
	uint64_t dropped;
	int number;			/* of the signal */
	bool chains;			/* call chains are asked for */
	bool left;			/* what sends the signal could not be taken away */
	pid_t pid;			/* whose they are: a forked child gets no signals of ours */
	struct sigaction before;
	const struct operations *operations;
	const struct stop_channel *stop;	/* by which the reader is woken */
};

/* Zeroed memory of that size, which begins with a signal ring, ready for use. NULL: no memory. */
void *pm_signal_ring_create(size_t size, const struct pm_session *session);

/*
 * From now on the signal's handler fills this ring. One at a time in a process, and only when
 * nobody else uses the signal: -EBUSY. -EIO when sigaction(2) says 0 and sets nothing.
 */
int pm_signal_ring_install(struct signal_ring *ring, int number);

/* Tells why that failed; `busy` is the text for -EBUSY. Returns `err`. */
int pm_signal_ring_refused(struct pm_diag *diag, const char *strategy, const char *busy, int err);

/*
 * session->own is a ring no more: gives the signal back if it is still ours, or ignores it where it
 * may come yet, and waits until no handler is at work.
 */
void pm_signal_ring_remove(struct pm_session *session);

/* operations.drain: delivers the samples of session->own. */
int pm_signal_ring_drain(struct pm_session *session);

#endif
