/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and children that cause page faults when they are told to, and end when they are told to.
 */
#ifndef PERF_EVENTS_WORKERS_H
#define PERF_EVENTS_WORKERS_H

#include "events.h"

enum worker_kind { WORKER_THREAD, WORKER_CHILD };

/* A thread or child that sits still until it is ordered to do something. */
struct worker {
	enum worker_kind kind;
	pid_t tid;
	pthread_t thread;
	int orders[2], answers[2];
};

/* With neither function nor faults, the worker ends. */
struct order {
	int (*function)(void *argument);
	void *argument;
	unsigned int faults;
};

static inline void serve(int orders, int answers)
{
	int answer = (int)ev_gettid();
	struct order order;

	cause_faults(1);
	while (write(answers, &answer, sizeof(answer)) == sizeof(answer)) {
		if (read(orders, &order, sizeof(order)) != sizeof(order))
			return;
		if (order.function)
			answer = order.function(order.argument);
		else if (order.faults)
			answer = cause_faults(order.faults);
		else
			return;
	}
}

static inline void *serve_thread(void *argument)
{
	struct worker *worker = argument;

	serve(worker->orders[0], worker->answers[1]);
	return NULL;
}

static inline pid_t start_child(int (*function)(void *argument), void *argument)
{
	const pid_t parent = getpid();
	pid_t child = fork();

	if (child)
		return child < 0 ? -errno : child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(getppid() == parent ? function(argument) : 125);
}

static inline int wait_child(pid_t child)
{
	int status;

	if (child < 0)
		return (int)child;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int serve_child(void *argument)
{
	struct worker *worker = argument;

	close(worker->orders[1]);
	close(worker->answers[0]);
	serve_thread(worker);
	return 0;
}

static inline int await_answer(struct worker *worker)
{
	struct pollfd entry = { .fd = worker->answers[0], .events = POLLIN };
	int answer;

	if (poll(&entry, 1, 5000) != 1 ||
	    read(worker->answers[0], &answer, sizeof(answer)) != sizeof(answer))
		return -ETIMEDOUT;
	return answer;
}

static inline int give_order(struct worker *worker, const struct order *order)
{
	if (write(worker->orders[1], order, sizeof(*order)) != sizeof(*order))
		return -EPIPE;
	return await_answer(worker);
}

static inline int worker_do(struct worker *worker, int (*function)(void *argument), void *argument)
{
	const struct order order = { .function = function, .argument = argument };

	return give_order(worker, &order);
}

static inline int worker_faults(struct worker *worker, unsigned int faults)
{
	const struct order order = { .faults = faults };

	return give_order(worker, &order);
}

/* The first of two steps, where another worker does the second. */
static inline int worker_prepare(struct worker *worker, enum worker_kind kind)
{
	worker->kind = kind;
	return pipe(worker->orders) < 0 || pipe(worker->answers) < 0 ? -errno : 0;
}

static inline int worker_launch(void *argument)
{
	struct worker *worker = argument;
	int answer = 0;

	if (worker->kind == WORKER_THREAD)
		answer = -pthread_create(&worker->thread, NULL, serve_thread, worker);
	else
		answer = start_child(serve_child, worker);
	if (answer >= 0)
		answer = await_answer(worker);
	if (answer < 0)
		return answer;
	worker->tid = answer;
	return worker_faults(worker, 1);
}

static inline void must_start_worker(struct worker *worker, enum worker_kind kind)
{
	must_succeed(worker_prepare(worker, kind));
	must_succeed(worker_launch(worker));
}

/* A joined thread may still be on its way out; it is gone when it has no id any more. */
static inline int await_gone(pid_t tid)
{
	const struct timespec moment = { .tv_nsec = 50000 };

	for (int i = 0; i < 40000; i++) {
		if (syscall(__NR_tgkill, getpid(), tid, 0) < 0)
			return 0;
		nanosleep(&moment, NULL);
	}
	return -ETIMEDOUT;
}

static inline int worker_stop(void *argument)
{
	const struct order end = { .faults = 0 };
	struct worker *worker = argument;
	int error;

	if (!worker->tid)
		return 0;
	if (write(worker->orders[1], &end, sizeof(end)) != sizeof(end))
		return -EPIPE;
	if (worker->kind == WORKER_CHILD) {
		error = wait_child(worker->tid);
	} else {
		error = -pthread_join(worker->thread, NULL);
		error = error ? error : await_gone(worker->tid);
	}
	worker->tid = 0;
	for (int i = 0; i < 2; i++) {
		close(worker->orders[i]);
		close(worker->answers[i]);
	}
	return error;
}

static inline __u64 gain_of_faults(int fd, struct worker *worker, unsigned int faults)
{
	__u64 before;

	must_succeed(worker ? worker_faults(worker, 1) : cause_faults(1));
	before = must_count(fd);
	must_succeed(worker ? worker_faults(worker, faults) : cause_faults(faults));
	return must_count(fd) - before;
}

/* A page that the kernel has aged may fault once more: a few too many are counted again. */
static inline void expect_gain(int fd, struct worker *worker, unsigned int faults, __u64 want)
{
	__u64 gain = gain_of_faults(fd, worker, faults);

	for (int again = 0; again < 3 && gain > want && gain - want < faults; again++)
		gain = gain_of_faults(fd, worker, faults);
	if (gain != want)
		say_broken("gained=%llu want=%llu of %u faults", gain, want, faults);
}

/* Run until the clock of events has moved. */
static inline struct ev_counts spin_until_timed(int fd, struct worker *worker)
{
	const __u64 format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct ev_counts counts = { .nr = 0 };

	for (int tries = 0; tries < 50 && !counts.time_enabled; tries++) {
		if (worker)
			worker_do(worker, wake_and_spin, NULL);
		else
			wake_and_spin(NULL);
		counts = must_counts(fd, format);
	}
	return counts;
}

#endif /* PERF_EVENTS_WORKERS_H */
