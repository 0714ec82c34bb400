/* SPDX-License-Identifier: MIT */
/* The client of a broker: asks for an event and takes the descriptor. */
#define _GNU_SOURCE
#include "broker.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../spec/now.h"

#define PATIENCE_NS 2000000000ull	/* for one answer */
#define TURNS 100000			/* of a clock that stands still, among signals */
#define STRAYS 8		/* descriptors that a wrong answer may bring, to be closed */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(STRAYS * sizeof(int))];
};

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

/* musl's CMSG_NXTHDR compares a length with a difference of pointers. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wsign-compare"
#endif

/* All descriptors that came, of which only the first is kept and only if `wanted`. -1: none. */
static int take_descriptors(struct msghdr *message, bool wanted)
{
	int kept = -1;

	for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
		size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(at) + i * sizeof(fd), sizeof(fd));
			if (wanted && kept < 0)
				kept = fd;
			else
				close(fd);
		}
	}
	return kept;
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
	struct iovec part = { &reply, sizeof(reply) };
	union control control;
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	ssize_t size;
	bool right;
	int fd;

	if (!has_answer(socket))
		return end(socket, EPIPE);
	size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (size <= 0)
		return -EPIPE;
	right = size == sizeof(reply) && reply.magic == BROKER_MAGIC &&
		reply.version == BROKER_VERSION && reply.error >= 0 && reply.error < 4096 &&
		!(message.msg_flags & MSG_TRUNC);
	fd = take_descriptors(&message, right && reply.error == 0);
	if (!right)
		return end(socket, EPROTO);
	if (reply.error != 0)
		return -reply.error;
	if (fd >= 0)
		return fd;
	/* It was sent, and the limit on descriptors left no room to put it. */
	return message.msg_flags & MSG_CTRUNC ? -EMFILE : end(socket, EPROTO);
}

int pm_broker_open(int socket, const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int err = ask(socket, attr, tid, cpu);

	return err < 0 ? err : hear(socket);
}
