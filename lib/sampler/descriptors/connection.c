/* SPDX-License-Identifier: MIT */
/* One answer: everything in it was written by a process that may lie. */
#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../../rights.h"
#include "../willing/wire.h"

#ifndef PROC_SUPER_MAGIC
#define PROC_SUPER_MAGIC 0x9fa0	/* <linux/magic.h> */
#endif

int connection_pid(int fd)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0 ? (int)cred.pid : 0;
}

/* A file of this process's own /proc: a mount of another one may number other processes. */
static bool is_in_our_proc(int fd, int pid)
{
	char path[32];
	struct stat file, directory;
	struct statfs system;

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	return fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC &&
		fstat(fd, &file) == 0 && stat(path, &directory) == 0 &&
		S_ISREG(file.st_mode) && file.st_dev == directory.st_dev;
}

static bool is_file(int fd, int pid, const char *name)
{
	char link[48], path[64], want[64];
	ssize_t size;
	int mode = fcntl(fd, F_GETFL);

	if (mode < 0 || (mode & O_ACCMODE) != O_RDONLY || mode & O_PATH || !is_in_our_proc(fd, pid))
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (size < 0)
		return false;
	path[size] = '\0';
	(void)snprintf(want, sizeof(want), "/proc/%d/%s", pid, name);
	return strcmp(path, want) == 0;
}

static int judge(const struct willing_answer *answer, int pid, int token, const int *fds,
		 size_t count, int *ret_error)
{
	if (answer->magic != WILLING_MAGIC || answer->version != WILLING_VERSION ||
	    answer->token != token || answer->error < 0 || answer->error > 4095)
		return -EBADMSG;
	*ret_error = answer->error;
	if (answer->error != 0)
		return count == 0 ? 0 : -EBADMSG;
	if (count != 2 || !is_file(fds[0], pid, "maps") || !is_file(fds[1], pid, "mem"))
		return -EBADMSG;
	return 1;
}

int connection_take(int fd, int pid, int token, int *fds, int *ret_error)
{
	struct willing_answer answer = { .magic = 0 };
	struct pm_rights rights;
	ssize_t size = pm_rights_receive(fd, &answer, sizeof(answer), MSG_DONTWAIT, &rights);
	int verdict = -EBADMSG;

	if (size < 0)
		return size == -EAGAIN || size == -EINTR ? -EAGAIN : -EBADMSG;
	if (rights.flags & MSG_CTRUNC && rights.count < 2) {
		*ret_error = EMFILE;	/* they were sent, and our own limit left no room */
		verdict = 0;
	} else if (size == (ssize_t)sizeof(answer) &&
		   !(rights.flags & (MSG_TRUNC | MSG_CTRUNC))) {
		verdict = judge(&answer, pid, token, rights.fds, rights.count, ret_error);
	}
	pm_rights_close(&rights, verdict == 1 ? 2 : 0);
	if (verdict == 1)
		memcpy(fds, rights.fds, 2 * sizeof(int));
	return verdict;
}
