/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and children that wait for orders. See worker.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attrs.h"
#include "fork_exec.h"
#include "task.h"
#include "worker.h"
#include "workload.h"

/* --------------------------------------------------------------------------------- workers */

#define WORKER_VARIABLE "PERFMODES_WORKER"

/* Exactly one of these is set; none of them ends the worker. */
struct order {
	int (*function)(void *);
	void *argument;
	unsigned int faults;
	char path[128];			/* of a program to execute, by value: not shared */
};

static bool receive(int fd, void *data, size_t size)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };
	int ready;

	while ((ready = poll(&entry, 1, 5000)) < 0 && errno == EINTR)
		;	/* a signal of the event that is watched */
	return ready == 1 && read(fd, data, size) == (ssize_t)size;
}

static int await_answer(struct worker *worker)
{
	int answer;

	return receive(worker->answers[0], &answer, sizeof(answer)) ? answer : -ETIMEDOUT;
}

static int execute_as_worker(const char *path, int orders, int answers)
{
	char *const words[] = { (char *)"worker", NULL };
	char variable[64];
	char *const environment[] = { variable, NULL };

	snprintf(variable, sizeof(variable), WORKER_VARIABLE "=%d,%d", orders, answers);
	execve(path, words, environment);
	return -errno;
}

/* All memory that an order needs is touched before the worker says that it is ready. */
static void serve(int orders, int answers)
{
	int answer = (int)pm_gettid();
	struct order order;
	ssize_t size;

	cause_faults(1);
	while (write(answers, &answer, sizeof(answer)) == sizeof(answer)) {
		while ((size = read(orders, &order, sizeof(order))) < 0 && errno == EINTR)
			;
		if (size != sizeof(order))
			return;		/* whoever gave the orders has ended */
		if (order.function)
			answer = order.function(order.argument);
		else if (order.faults)
			answer = cause_faults(order.faults);
		else if (order.path[0])
			answer = execute_as_worker(order.path, orders, answers);
		else
			return;
	}
}

/* After worker_exec(): the new image serves before main() is reached. */
static void __attribute__((constructor)) serve_after_exec(void)
{
	const char *text = getenv(WORKER_VARIABLE);
	char *end;
	int orders;

	if (!text)
		return;
	orders = (int)strtol(text, &end, 10);
	if (*end != ',')
		return;
	serve(orders, (int)strtol(end + 1, NULL, 10));
	_exit(0);
}

static void *serve_thread(void *worker)
{
	serve(((struct worker *)worker)->orders[0], ((struct worker *)worker)->answers[1]);
	return NULL;
}

/*
 * Without the ends that are not its own: a child that may not be killed, of a test that has dropped
 * its privileges, ends with the test.
 */
static int serve_child(void *argument)
{
	struct worker *worker = argument;

	close(worker->orders[1]);
	close(worker->answers[0]);
	serve_thread(worker);
	return 0;
}

int worker_prepare(struct worker *worker, enum worker_kind kind)
{
	worker->kind = kind;
	if (pipe(worker->orders) < 0)
		return -errno;
	return pipe(worker->answers) < 0 ? -errno : 0;
}

int worker_launch(void *argument)
{
	struct worker *worker = argument;
	pid_t child;
	int answer;

	if (worker->kind == WORKER_THREAD) {
		answer = pthread_create(&worker->thread, NULL, serve_thread, worker);
		if (answer)
			return -answer;
	} else {
		child = start_child(serve_child, worker);
		if (child < 0)
			return (int)child;
	}
	answer = await_answer(worker);
	if (answer < 0)
		return answer;
	worker->tid = answer;
	return worker_faults(worker, 1);
}

int worker_start(struct worker *worker, enum worker_kind kind)
{
	int error = worker_prepare(worker, kind);

	return error ? error : worker_launch(worker);
}

static int send_order(struct worker *worker, const struct order *order)
{
	return write(worker->orders[1], order, sizeof(*order)) == sizeof(*order) ? 0 : -EPIPE;
}

int worker_do(struct worker *worker, int (*function)(void *), void *argument)
{
	const struct order order = { .function = function, .argument = argument };
	int error = send_order(worker, &order);

	return error ? error : await_answer(worker);
}

int worker_faults(struct worker *worker, unsigned int faults)
{
	const struct order order = { .faults = faults };
	int error = send_order(worker, &order);

	return error ? error : await_answer(worker);
}

static int move(void *nth)
{
	return move_to_nth_cpu((unsigned int)(uintptr_t)nth);
}

int worker_move(struct worker *worker, unsigned int nth)
{
	return worker_do(worker, move, (void *)(uintptr_t)nth);
}

int worker_exec(struct worker *worker, const char *path)
{
	struct order order = { .faults = 0 };
	int answer;

	snprintf(order.path, sizeof(order.path), "%s", path ? path : "/proc/self/exe");
	answer = send_order(worker, &order);
	if (!answer)
		answer = await_answer(worker);
	if (answer < 0)
		return answer;
	worker->tid = answer;
	return worker_faults(worker, 1);
}

void worker_dismiss(struct worker *worker)
{
	const struct order end = { .faults = 0 };
	int error = send_order(worker, &end);

	(void)error;	/* it may be gone already */
}

/* A joined thread may still be on its way out; it is gone when it has no id any more. */
static int await_gone(pid_t tid)
{
	const struct timespec moment = { .tv_nsec = 50000 };

	for (int i = 0; i < 40000; i++) {
		if (syscall(SYS_tgkill, getpid(), tid, 0) < 0)
			return 0;
		nanosleep(&moment, NULL);
	}
	return -ETIMEDOUT;
}

int worker_stop(void *argument)
{
	struct worker *worker = argument;
	int error;

	if (!worker->tid)
		return 0;
	worker_dismiss(worker);
	if (worker->kind == WORKER_CHILD) {
		error = wait_child(worker->tid);
	} else {
		error = -pthread_join(worker->thread, NULL);
		if (!error)
			error = await_gone(worker->tid);
	}
	worker->tid = 0;
	for (int end = 0; end < 2; end++) {
		close(worker->orders[end]);
		close(worker->answers[end]);
	}
	return error;
}
