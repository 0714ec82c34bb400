/* SPDX-License-Identifier: MIT */
/* What came over one connection, held against who was asked; not installed. */
#ifndef PM_DESCRIPTORS_CONNECTION_H
#define PM_DESCRIPTORS_CONNECTION_H

/* The pid of who connected, by the kernel's word at the time of connect(2); 0: not seen here. */
int connection_pid(int fd);

/*
 * The one packet of a connection. Returns 1 with descriptors of maps and mem, checked, in fds[0]
 * and fds[1]; 0 when the peer says that it cannot open them (*ret_error); -EAGAIN when nothing came
 * so far; -EBADMSG for a forged one, whose descriptors are closed.
 */
int connection_take(int fd, int pid, int token, int *fds, int *ret_error);

#endif
