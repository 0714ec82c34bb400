/* SPDX-License-Identifier: MIT */
/* See rights.h. */
#define _GNU_SOURCE
#include "rights.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

int rights_send(int line, int fd)
{
	int error = fd < 0 ? fd : 0;
	struct iovec vector = { &error, sizeof(error) };
	union control control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(line, &message, MSG_NOSIGNAL) == sizeof(error) ? 0 : -errno;
}

int rights_receive(int line)
{
	int error = -EPIPE, fd = -1;
	struct iovec vector = { &error, sizeof(error) };
	union control control;
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control) };
	const struct cmsghdr *header;

	if (recvmsg(line, &message, MSG_CMSG_CLOEXEC) != sizeof(error))
		return -EPIPE;
	header = CMSG_FIRSTHDR(&message);
	if (error < 0 || header == NULL || header->cmsg_type != SCM_RIGHTS)
		return error < 0 ? error : -EPIPE;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}
