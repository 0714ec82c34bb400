/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See waiter.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "say.h"
#include "task.h"
#include "waiter.h"
#include "workload.h"

int gate_init(struct gate *gate)
{
	return pipe(gate->fds) < 0 ? -errno : 0;
}

void gate_open(struct gate *gate)
{
	ssize_t written = write(gate->fds[1], "", 1);

	(void)written;
}

void gate_wait(struct gate *gate)
{
	char token;

	while (read(gate->fds[0], &token, 1) < 0 && errno == EINTR)
		;
}

static void *wait_in_poll(void *argument)
{
	struct waiter *waiter = argument;
	ssize_t written;
	int revents;

	waiter->tid = pm_gettid();
	revents = poll_once(waiter->fd, POLLIN, waiter->time_out_ms);
	written = write(waiter->woken[1], &revents, sizeof(revents));
	(void)written;
	return NULL;
}

/* The letter of /proc/<pid>/task/<tid>/stat: 'S' for a thread that sleeps; 0 when unreadable. */
static char state_of(pid_t tid)
{
	char path[64], text[128] = "", *bracket;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	if (pm_read_text(path, text, sizeof(text)) <= 0 && !text[0])
		return 0;
	bracket = strrchr(text, ')');
	return bracket && bracket[1] ? bracket[2] : 0;
}

int waiter_start(struct waiter *waiter, int fd, int time_out_ms)
{
	const uint64_t end = now_ns() + 5000000000ull;
	int error;

	*waiter = (struct waiter){ .fd = fd, .time_out_ms = time_out_ms };
	if (pipe(waiter->woken) < 0)
		return -errno;
	error = pthread_create(&waiter->thread, NULL, wait_in_poll, waiter);
	if (error)
		return -error;
	for (char state = 0; state != 'S'; sched_yield()) {
		const bool known = waiter->tid != 0;

		state = known ? state_of(waiter->tid) : 0;
		if (poll_once(waiter->woken[0], POLLIN, 0) == POLLIN)
			return 0;
		if (known && !state)
			return -ENOENT;		/* without /proc nobody knows when it sleeps */
		if (now_ns() > end)
			return -ETIMEDOUT;
	}
	return 0;
}

int waiter_woke(struct waiter *waiter, int within_ms)
{
	int revents;

	if (poll_once(waiter->woken[0], POLLIN, within_ms) != POLLIN ||
	    read(waiter->woken[0], &revents, sizeof(revents)) != sizeof(revents))
		return -EAGAIN;
	return revents;
}

void must_wait(struct waiter *waiter, int fd, int time_out_ms)
{
	int error = waiter_start(waiter, fd, time_out_ms);

	if (error)
		say_unknown("cannot start a thread that waits in poll: %s", pm_errno_name(error));
}

void expect_hang_up(int revents, const char *when)
{
	if (!revents || revents == -EAGAIN)
		say_no("%s: poll reports nothing", when);
	if (!(revents & POLLHUP))
		say_broken("%s: revents=%#x want=%#x", when, revents, POLLHUP);
}
