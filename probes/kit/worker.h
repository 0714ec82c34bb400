/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers: threads and children that take orders, so that a test decides what happens when.
 */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <sys/types.h>

/*
 * A thread or a child process that sits still until it is ordered to do something, so that a test
 * decides what happens when. Ready when it waits; its start-up is behind it.
 */
enum worker_kind { WORKER_THREAD, WORKER_CHILD };
struct worker {
	enum worker_kind kind;
	pid_t tid;
	pthread_t thread;
	int orders[2], answers[2];
};
/* Let a worker call a function, and wait for the result, which is returned (-ETIMEDOUT after 5
 * s). */
int worker_do(struct worker *worker, int (*function)(void *), void *argument);
/* Let a worker move to the nth CPU that it is allowed on. Returns the CPU or -errno. */
int worker_move(struct worker *worker, unsigned int nth);
/* Let a worker cause exactly that many page faults. Returns 0 or -errno. */
int worker_faults(struct worker *worker, unsigned int faults);
/* End a worker and wait until the kernel has taken it apart. A worker of another worker is ended
 * by worker_do(&other, worker_stop, &worker). Harmless when it is not running. */
int worker_stop(void *worker);
/* End a worker without waiting. */
void worker_dismiss(struct worker *worker);

#endif
