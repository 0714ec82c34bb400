/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that wait: at a gate, or in poll(2) for an event. Included behind probe.h.
 */
#ifndef WAITER_H
#define WAITER_H

#include <pthread.h>
#include <sys/types.h>

/* A gate between threads of one process: wait sleeps in the kernel, open lets one waiter go. */
struct gate {
	int fds[2];
};

/* Make a gate, closed. Returns 0 or -errno. */
int gate_init(struct gate *gate);
/* Let one thread through. */
void gate_open(struct gate *gate);
/* Sleep in the kernel until the gate opens. */
void gate_wait(struct gate *gate);

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
/* Start a thread that sleeps in poll(2); time_out_ms as for poll. Returns 0 or -errno. */
int waiter_start(struct waiter *waiter, int fd, int time_out_ms);
/* What its poll reported, once; -EAGAIN when it still sleeps after that many milliseconds. */
int waiter_woke(struct waiter *waiter, int within_ms);

/* Start a waiter, which the test needs. */
void must_wait(struct waiter *waiter, int fd, int time_out_ms);

/* Broken unless these revents have POLLHUP. Nothing at all is a no: older kernels do not report
 * it. */
void expect_hang_up(int revents, const char *when);

#endif
