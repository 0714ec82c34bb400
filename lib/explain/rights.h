/* SPDX-License-Identifier: MIT */
/* A descriptor, or why there is none, through a socket. */
#ifndef RIGHTS_H
#define RIGHTS_H

/* Sends `fd` >= 0 or -errno. Returns 0 or -errno. */
int rights_send(int line, int fd);

/* The descriptor that the other end sent, close-on-exec, or its -errno; -EPIPE: no answer. */
int rights_receive(int line);

#endif
