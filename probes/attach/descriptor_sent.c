/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event that was sent to another process outlive the process that opened it? Privileged
 * daemons open events and send them to programs without privilege. Observed: exact page faults of
 * this thread, in an event that a child opened and sent over a socket, while the child lives and
 * after its end.
 */
#include "probe.h"
#include <sys/socket.h>

PROBE(TITLE("a descriptor sent over a socket")
      SINCE("2.6.31")
      POINT(counts, "a descriptor sent over a socket reads the same event")
      POINT(opener_gone, "an event counts on when the process that opened it has ended"))

static pid_t target;

static int sockets[2];

/* Sends one descriptor, or receives one when fd is -1. Returns it or -errno. */
static int transfer(int fd)
{
	char token = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = &token, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (fd < 0) {
		if (recvmsg(sockets[0], &message, 0) < 0)
			return -errno;
		header = CMSG_FIRSTHDR(&message);
		if (!header)
			return -ENOMSG;
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
		return fd;
	}
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(sockets[1], &message, 0) < 0 ? -errno : fd;
}

static int open_and_send(void *unused)
{
	struct perf_event_attr attr = attr_counter(false);
	int fd = pm_open(&attr, target, -1, -1, 0);

	(void)unused;
	return fd < 0 ? fd : transfer(fd);
}

/* An event on this thread, opened by a child and sent here. */
static int receive_event(struct worker *child)
{
	struct perf_event_attr attr = attr_counter(false);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	target = pm_gettid();
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
	must_start_worker(child, WORKER_CHILD);
	fd = worker_do(child, open_and_send, NULL);
	if (fd < 0)
		say_unknown("a child cannot open and send: %s", pm_errno_name(fd));
	fd = transfer(-1);
	if (fd < 0)
		say_broken("recvmsg: %s", pm_errno_name(fd));
	return fd;
}

TEST(counts)
{
	struct worker child;

	expect_gain(receive_event(&child), NULL, 16, 16);
}

TEST(opener_gone)
{
	struct worker child;
	int fd = receive_event(&child);

	ASSERT_EQ(0, worker_stop(&child));
	expect_gain(fd, NULL, 16, 16);
}

PROBE_MAIN
