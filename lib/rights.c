/* SPDX-License-Identifier: MIT */
/* See rights.h. What comes was written by another process, which may send what it likes. */
#define _GNU_SOURCE
#include "rights.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* musl's CMSG_NXTHDR compares a length with a difference of pointers. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wsign-compare"
#endif

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(PM_RIGHTS_MOST * sizeof(int))];
};

int pm_rights_send(int socket, const void *data, size_t size, const int *fds, size_t count)
{
	union control control = { .bytes = "" };
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size ? 0 : -errno;
}

ssize_t pm_rights_receive(int socket, void *buf, size_t size, int flags, struct pm_rights *ret)
{
	union control control;
	struct iovec part = { buf, size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);

	*ret = (struct pm_rights){ .flags = message.msg_flags };
	if (got < 0)
		return -errno;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
		size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count && ret->count < PM_RIGHTS_MOST; i++)
			memcpy(&ret->fds[ret->count++], CMSG_DATA(at) + i * sizeof(int),
			       sizeof(int));
	}
	return got;
}

void pm_rights_close(const struct pm_rights *rights, size_t but)
{
	for (size_t i = but; i < rights->count; i++)
		close(rights->fds[i]);
}
