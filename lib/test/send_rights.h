/* SPDX-License-Identifier: MIT */
/* Sends a message with descriptors beside it, as a peer does whose answers are under fuzz. */
#ifndef SEND_RIGHTS_H
#define SEND_RIGHTS_H

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RIGHTS_MAX 10

/* `count` is at most RIGHTS_MAX; the caller keeps its descriptors. */
static inline void send_rights(int socket, const void *data, size_t size, const int *fds,
			       unsigned int count)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int) * RIGHTS_MAX)] = "";
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *head;

	if (count > 0) {
		message.msg_control = room;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * count);
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		abort();
}

#endif
