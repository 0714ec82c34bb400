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
/* Start one. Returns 0 or -errno. In two steps where a worker is to start another worker:
 * worker_prepare() here, then worker_do(&other, worker_launch, &worker). */
int worker_start(struct worker *worker, enum worker_kind kind);
int worker_prepare(struct worker *worker, enum worker_kind kind);
int worker_launch(void *worker);
/* Let it call a function and wait for the result, which is returned (-ETIMEDOUT after 5 s). */
int worker_do(struct worker *worker, int (*function)(void *), void *argument);
/* Let it move to the nth CPU it is allowed on. Returns the CPU or -errno. */
int worker_move(struct worker *worker, unsigned int nth);
/* Let it cause exactly that many page faults. Returns 0 or -errno. */
int worker_faults(struct worker *worker, unsigned int faults);
/* End it and wait until the kernel has taken it apart. For a worker of another worker, whoever
 * launched it has to: worker_do(&other, worker_stop, &worker). Harmless when it is not running. */
int worker_stop(void *worker);
/* End it without waiting. */
void worker_dismiss(struct worker *worker);

#endif
