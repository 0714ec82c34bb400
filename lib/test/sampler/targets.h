/* SPDX-License-Identifier: MIT */
/* Child processes that answer a sampler's signal: rightly, wrongly, late, never. */
#ifndef TEST_SAMPLER_TARGETS_H
#define TEST_SAMPLER_TARGETS_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../perfmodes_descriptors.h"
#include "../../perfmodes_willing.h"
#include "../../sampler/willing/wire.h"

#define NOBODY 65534

struct target {
	int pid;
	int to, from;		/* pipes of one byte a message */
};

static char socket_name[64];	/* "@perfmodes-test-PID-NUMBER" */

/* A new one for each listener: children that are about to end may still hold the last one. */
static inline void name_socket(void)
{
	static int number;

	(void)snprintf(socket_name, sizeof(socket_name), "@perfmodes-test-%d-%d", (int)getpid(),
		       number++);
}

static inline void say(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(99);
}

/* Waits for a byte, or the end of who would write it. */
static inline bool hear(int fd)
{
	char byte;
	ssize_t got;

	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	return got == 1;
}

/* Of all targets so far: a later one that holds them would keep an earlier one from its end. */
static int pipes[64];
static size_t pipe_count;

/* A child that calls `prepare`, says that it is ready, and sleeps in reads of its pipe. */
static inline struct target target_start(void (*prepare)(const struct target *self))
{
	struct target target = { 0, -1, -1 }, self = { 0, -1, -1 };
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
		abort();
	target.pid = fork();
	if (target.pid == 0) {
		close(down[1]);
		close(up[0]);
		for (size_t i = 0; i < pipe_count; i++)
			close(pipes[i]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		self = (struct target){ (int)getpid(), up[1], down[0] };
		prepare(&self);
		say(self.to);
		while (hear(self.from))
			;
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	target.to = down[1];
	target.from = up[0];
	pipes[pipe_count++ % 64] = target.to;
	if (!hear(target.from))
		abort();
	return target;
}

/* Ends it. Returns how it ended, as waitpid(2) tells. */
static inline int target_end(struct target *target)
{
	int status = -1;

	for (size_t i = 0; i < pipe_count; i++) {
		if (pipes[i] == target->to)
			pipes[i] = pipes[--pipe_count];
	}
	close(target->to);
	close(target->from);
	(void)waitpid(target->pid, &status, 0);
	return status;
}

static inline bool become(unsigned int uid)
{
	return setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
		setresuid(uid, uid, uid) == 0;
}

/* An answer made by hand: `count` descriptors beside `size` bytes of the packet. */
static inline bool answer_by_hand(const struct willing_answer *answer, size_t size, const int *fds,
				  size_t count)
{
	union { struct cmsghdr header; char bytes[CMSG_SPACE(16 * sizeof(int))]; } control;
	struct iovec part = { (void *)answer, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct sockaddr_un address;
	socklen_t length = willing_address(socket_name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool sent;

	memset(&control, 0, sizeof(control));
	if (count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	sent = fd >= 0 && connect(fd, (const void *)&address, length) == 0 &&
		(size == 0 || sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)size);
	close(fd);
	return sent;
}

static inline void on_signal(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART, .sa_sigaction = handler };

	sigemptyset(&action.sa_mask);
	(void)sigaction(PM_WILLING_SIGNAL, &action, NULL);
}

#endif
