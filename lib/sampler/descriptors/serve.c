/* SPDX-License-Identifier: MIT */
/* Connections: who may be heard, how many at a time, and what becomes of what they say. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"

#define TURN_MAX 64

static void end(struct connection *connection)
{
	close(connection->fd);
	connection->fd = -1;
}

void connections_close(struct pm_descriptors *descriptors, int pid)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &descriptors->connections[i];

		if (connection->fd < 0 || connection->pid != pid)
			continue;
		descriptors->stats.silent++;
		end(connection);
	}
}

static bool was_asked(const struct pm_descriptors *descriptors, int pid)
{
	for (int i = 0; i < LATE; i++) {
		if (pid != 0 && descriptors->late[i] == pid)
			return true;
	}
	return false;
}

/* A place for one more connection of this process; NULL when it or all have too many. */
static struct connection *place(struct pm_descriptors *descriptors, int pid)
{
	struct connection *free_one = NULL;
	int own = 0;

	for (int i = 0; i < CONNECTIONS; i++) {
		if (descriptors->connections[i].fd < 0)
			free_one = &descriptors->connections[i];
		else if (descriptors->connections[i].pid == pid)
			own++;
	}
	return own < CONNECTIONS_EACH ? free_one : NULL;
}

static void admit(struct pm_descriptors *descriptors, int fd)
{
	int pid = connection_pid(fd);
	struct connection *connection = place(descriptors, pid);
	struct epoll_event event = { .events = EPOLLIN };

	if (!question_find(descriptors, pid)) {
		if (was_asked(descriptors, pid))
			descriptors->stats.late++;
		else
			descriptors->stats.foreign++;
		close(fd);
		return;
	}
	event.data.u64 = ++descriptors->serial;
	if (!connection || epoll_ctl(descriptors->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
		descriptors->stats.flooded++;
		close(fd);
		return;
	}
	*connection = (struct connection){ fd, pid, descriptors->serial };
}

static int accept_some(struct pm_descriptors *descriptors, int turn)
{
	int count = 0;

	while (count < turn) {
		int fd = accept4(descriptors->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			break;
		count++;
		if (fd >= 0)
			admit(descriptors, fd);
	}
	return count;
}

/* An answer counts while its process runs: descriptors of a process that ended read nothing. */
static void hear(struct pm_descriptors *descriptors, struct connection *connection)
{
	struct question *question = question_find(descriptors, connection->pid);
	int fds[2], error = 0;
	int got = connection_take(connection->fd, connection->pid, question->token, fds, &error);

	if (got == -EAGAIN)
		return;
	end(connection);
	if (got < 0) {
		descriptors->stats.forged++;
	} else if (!process_is_there(&question->process)) {
		if (got == 1) {
			close(fds[0]);
			close(fds[1]);
		}
		question_end(descriptors, question, PM_DESCRIPTORS_GONE, 0, NULL);
	} else if (got == 0) {
		question_end(descriptors, question, PM_DESCRIPTORS_REFUSED, error, NULL);
	} else {
		question_end(descriptors, question, PM_DESCRIPTORS_PASSED, 0, fds);
	}
}

static void serve(struct pm_descriptors *descriptors, uint64_t what)
{
	struct question *question;

	if (what >> 63) {
		question = question_find(descriptors, (int)(what & 0x7fffffff));
		if (question && !process_is_there(&question->process))
			question_end(descriptors, question, PM_DESCRIPTORS_GONE, 0, NULL);
		return;
	}
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &descriptors->connections[i];

		if (connection->fd >= 0 && connection->serial == what) {
			hear(descriptors, connection);
			return;
		}
	}
}

int connections_serve(struct pm_descriptors *descriptors, int turn)
{
	struct epoll_event events[TURN_MAX];
	int count = epoll_wait(descriptors->epoll, events, turn < TURN_MAX ? turn : TURN_MAX, 0);
	int most = count;

	for (int i = 0; i < count; i++) {
		if (events[i].data.u64 == 0) {
			int accepted = accept_some(descriptors, turn);

			most = accepted > most ? accepted : most;
		} else {
			serve(descriptors, events[i].data.u64);
		}
	}
	return most;
}
