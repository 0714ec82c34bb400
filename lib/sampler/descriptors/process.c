/* SPDX-License-Identifier: MIT */
/* One process: a directory of /proc and a pidfd, neither of which is passed on to a reused pid. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../target/proc.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int process_open(int pid, struct process *ret)
{
	struct process process = { .pid = pid };
	struct proc_stat stat;
	char path[32];
	int err;

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	process.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process.directory < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	process.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* The directory is of the older process where the pid changed hands in between. */
	err = pm_proc_stat_at(process.directory, &stat);
	if (err < 0) {
		process_close(&process);
		return err;
	}
	process.start_time = stat.started;
	*ret = process;
	return 0;
}

void process_close(struct process *process)
{
	if (process->directory >= 0)
		close(process->directory);
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->directory = process->pidfd = -1;
}

/* 0 while it runs, -ESRCH when it has ended; another -errno where /proc cannot be read. */
static int check_running(const struct process *process)
{
	struct pollfd ended = { .fd = process->pidfd, .events = POLLIN };
	struct proc_stat stat;
	int err;

	if (process->pidfd >= 0 && poll(&ended, 1, 0) > 0)
		return -ESRCH;
	err = pm_proc_stat_at(process->directory, &stat);
	return err < 0 || stat.started == process->start_time ? err : -ESRCH;
}

bool process_is_there(const struct process *process)
{
	return check_running(process) != -ESRCH;
}

int process_open_memory(const struct process *process, int *fds)
{
	int err;

	fds[0] = openat(process->directory, "maps", O_RDONLY | O_CLOEXEC);
	if (fds[0] < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	fds[1] = openat(process->directory, "mem", O_RDONLY | O_CLOEXEC);
	if (fds[1] >= 0)
		return 0;
	err = errno == ENOENT ? -ESRCH : -errno;
	close(fds[0]);
	return err;
}

int process_handles(const struct process *process, int number)
{
	static const char key[] = "\nSigCgt:";
	char text[8192];
	const char *at;
	int length = pm_proc_read_at(process->directory, "status", text, sizeof(text));

	if (length < 0)
		return length == -ENOENT ? -ESRCH : length;
	at = strstr(text, key);
	if (!at)
		return -EBADMSG;
	return (strtoull(at + sizeof(key) - 1, NULL, 16) >> (number - 1)) & 1;
}

int process_signal(const struct process *process, int number, int value)
{
	union sigval with = { .sival_int = value };
	siginfo_t info;
	int err;

	memset(&info, 0, sizeof(info));
	info.si_signo = number;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value = with;
	if (process->pidfd >= 0) {
		if (syscall(SYS_pidfd_send_signal, process->pidfd, number, &info, 0) == 0)
			return 0;
		if (errno != ENOSYS)
			return -errno;
	}
	err = check_running(process);
	if (err < 0)
		return err;
	return sigqueue(process->pid, number, with) == 0 ? 0 : -errno;
}
