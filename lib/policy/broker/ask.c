/* SPDX-License-Identifier: MIT */
/* The client of a broker: asks for an event and takes the descriptor. */
#define _GNU_SOURCE
#include "broker.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "../../rights.h"
#include "../spec/now.h"

#define PATIENCE_NS 2000000000ull	/* for one answer */
#define TURNS 100000			/* of a clock that stands still, among signals */

static int ask(int socket, const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	struct broker_request request = {
		.magic = BROKER_MAGIC, .version = BROKER_VERSION, .tid = tid, .cpu = cpu,
		.attr_size = pm_attr_size_needed(attr),
	};
	size_t size = offsetof(struct broker_request, attr) + request.attr_size;
	struct perf_event_attr sized = *attr;
	ssize_t sent;

	sized.size = request.attr_size;
	memcpy(request.attr, &sized, request.attr_size);
	do
		sent = send(socket, &request, size, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size ? 0 : -EPIPE;
}

/* Signals interrupt the waiting, and do not end it. */
static bool has_answer(int socket)
{
	struct pollfd ready = { .fd = socket, .events = POLLIN };
	uint64_t now = pm_now();
	const uint64_t end = now + PATIENCE_NS;
	int count, turns = TURNS;

	do {
		count = poll(&ready, 1, (int)((end - now) / 1000000));
		if (count >= 0 || errno != EINTR)
			break;
		now = pm_now();
	} while (--turns > 0 && now < end);
	return count > 0;
}

/* What comes later would be taken for the answer to another question. */
static int end(int socket, int error)
{
	(void)shutdown(socket, SHUT_RDWR);
	return -error;
}

static int hear(int socket)
{
	struct broker_reply reply = { .error = 0 };
	struct pm_rights rights;
	ssize_t size;
	bool right;

	if (!has_answer(socket))
		return end(socket, EPIPE);
	size = pm_rights_receive(socket, &reply, sizeof(reply), MSG_DONTWAIT, &rights);
	if (size <= 0)
		return -EPIPE;
	right = size == sizeof(reply) && reply.magic == BROKER_MAGIC &&
		reply.version == BROKER_VERSION && reply.error >= 0 && reply.error < 4096 &&
		!(rights.flags & MSG_TRUNC);
	/* A wrong answer may bring any. */
	pm_rights_close(&rights, right && reply.error == 0);
	if (!right)
		return end(socket, EPROTO);
	if (reply.error != 0)
		return -reply.error;
	if (rights.count > 0)
		return rights.fds[0];
	/* It was sent, and the limit on descriptors left no room to put it. */
	return rights.flags & MSG_CTRUNC ? -EMFILE : end(socket, EPROTO);
}

int pm_broker_open(int socket, const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int err = ask(socket, attr, tid, cpu);

	return err < 0 ? err : hear(socket);
}
