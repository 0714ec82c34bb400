/* SPDX-License-Identifier: MIT */
/* Descriptors beside a message on a socket (SCM_RIGHTS); not installed. */
#ifndef PM_RIGHTS_H
#define PM_RIGHTS_H

#include <stddef.h>
#include <sys/types.h>

#define PM_RIGHTS_MOST 8	/* of one message; the kernel drops more */

struct pm_rights {
	int fds[PM_RIGHTS_MOST];
	size_t count;
	int flags;			/* msg_flags of recvmsg(2): MSG_TRUNC, MSG_CTRUNC */
};

/* Sends a whole message with up to PM_RIGHTS_MOST descriptors beside it. 0 or -errno. */
int pm_rights_send(int socket, const void *data, size_t size, const int *fds, size_t count);

/* Bytes of the message or -errno; its descriptors, close-on-exec, belong to the caller. */
ssize_t pm_rights_receive(int socket, void *buf, size_t size, int flags, struct pm_rights *ret);

/* Closes them, but for the first so many. */
void pm_rights_close(const struct pm_rights *rights, size_t but);

#endif
