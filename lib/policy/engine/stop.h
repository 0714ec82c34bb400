/* SPDX-License-Identifier: MIT */
/* How another thread, or a signal handler, wakes and stops the one that polls; not installed. */
#ifndef PM_STOP_H
#define PM_STOP_H

#include <pthread.h>
#include <sys/types.h>

#include "../../perfmodes.h"

struct stop_channel {
	int fd;				/* an eventfd, or the reading end of a pipe; -1: closed */
	int send;			/* the same, or its writing end */
	pid_t pid;			/* of the process that may take the lock */
	pthread_mutex_t lock;		/* of fd, running and runner */
	pthread_cond_t out;
	bool running;
	pthread_t runner;
};

void pm_stop_init(struct stop_channel *stop);

/* In a forked child a waiter may have been left behind, who is never seen to leave. */
void pm_stop_destroy(struct stop_channel *stop);

/* Opens the channel, in a process that may be another than before. 0 or -errno. */
int pm_stop_open(struct stop_channel *stop);

/* Another thread may be about to write to it. */
void pm_stop_close(struct stop_channel *stop);

/* -ECANCELED when the word to stop has come, which is taken; else 0. */
int pm_stop_take(const struct stop_channel *stop);

/* Says so, and waits until the runner has left, unless that is the calling thread. */
void pm_stop_send(struct stop_channel *stop);

/* Wakes the one that polls, from a signal handler. The channel must stay open meanwhile. */
void pm_stop_wake(const struct stop_channel *stop);

/* The calling thread runs from here, and until here. */
void pm_stop_enter(struct stop_channel *stop);
void pm_stop_leave(struct stop_channel *stop);

#endif
