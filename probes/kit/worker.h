/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and children that wait until they are told, so that a test decides what happens when:
 * gates, workers that take orders, waiters that sit in poll(2).
 */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <sys/types.h>

/* A gate between threads of one process: wait sleeps in the kernel, open lets one waiter go. */
struct gate {
	int fds[2];
};
int gate_init(struct gate *gate);
void gate_open(struct gate *gate);
void gate_wait(struct gate *gate);

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
/* Wake it up for nothing. Returns 0 or -errno. */
int worker_nudge(struct worker *worker);
/* Let it cause exactly that many page faults. Returns 0 or -errno. */
int worker_faults(struct worker *worker, unsigned int faults);
/* Let it execute this very program (path NULL) or a copy of it; it goes on as a worker that only
 * knows worker_faults() and worker_stop(). Returns 0 or -errno. */
int worker_exec(struct worker *worker, const char *path);
/* End it and wait until the kernel has taken it apart. For a worker of another worker, whoever
 * launched it has to: worker_do(&other, worker_stop, &worker). Harmless when it is not running. */
int worker_stop(void *worker);
/* As a job of another worker: a thread of its own comes and goes, then a child. */
int worker_come_and_go(void *unused);
/* End it without waiting. */
void worker_dismiss(struct worker *worker);

/*
 * A thread that waits in poll(2) for POLLIN of a descriptor. Ready when the kernel has put it to
 * sleep there, or when poll has returned. It ends with the test.
 */
struct waiter {
	int fd, time_out_ms;
	pthread_t thread;
	volatile pid_t tid;
	int woken[2];
};
/* Start one; time_out_ms as for poll. Returns 0 or -errno. */
int waiter_start(struct waiter *waiter, int fd, int time_out_ms);
/* What its poll reported, once; -EAGAIN when it still sleeps after that many milliseconds. */
int waiter_woke(struct waiter *waiter, int within_ms);

#endif
