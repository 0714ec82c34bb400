/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the answer of a broker, with as many descriptors beside it as the first byte says.
 * No descriptor may be left open, and what is returned is a descriptor or an errno.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../policy/broker/broker.h"

#define DESCRIPTORS_MAX 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(int socket, const uint8_t *data, size_t size, unsigned int descriptors)
{
	char room[CMSG_SPACE(sizeof(int) * DESCRIPTORS_MAX)] = "";
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *head;

	if (descriptors > 0) {
		message.msg_control = room;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * descriptors);
		for (unsigned int i = 0; i < descriptors; i++)
			memcpy(CMSG_DATA(head) + i * sizeof(int), &socket, sizeof(int));
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct perf_event_attr attr = { .size = sizeof(attr) };
	int ends[2], next, got;

	if (size < 2 || size > 4096)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	answer(ends[1], data + 1, size - 1, data[0] % (DESCRIPTORS_MAX + 1));
	got = pm_broker_open(ends[0], &attr, getpid(), -1);
	if (got < -4095)
		abort();
	if (got >= 0)
		close(got);
	next = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
	if (next > ends[1] + 1)
		abort();		/* one of the descriptors was kept */
	close(next);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
