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

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define STAT_FLAGS 9		/* fields of /proc/PID/stat, from 1 on */
#define STAT_START_TIME 22
#define PF_KTHREAD 0x00200000u

static int read_at(int directory, const char *name, char *buf, size_t size)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t got = 1;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (got > 0 && have < size - 1) {
		got = read(fd, buf + have, size - 1 - have);
		if (got > 0)
			have += (size_t)got;
	}
	got = got < 0 ? -errno : 0;
	close(fd);
	buf[have] = '\0';
	return (int)got;
}

/* The name of the program, field 2, may hold spaces and parentheses: fields count from the last. */
static const char *field(const char *stat, int number)
{
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < number; i++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

static int read_stat(int directory, uint64_t *ret_start, bool *ret_kernel)
{
	char text[1024];
	const char *start, *flags;
	int err = read_at(directory, "stat", text, sizeof(text));

	if (err < 0)
		return err;
	start = field(text, STAT_START_TIME);
	flags = field(text, STAT_FLAGS);
	if (!start || !flags)
		return -EBADMSG;
	*ret_start = strtoull(start, NULL, 10);
	*ret_kernel = strtoul(flags, NULL, 10) & PF_KTHREAD;
	return 0;
}

int process_open(int pid, struct process *ret)
{
	struct process process = { .pid = pid };
	char path[32];
	int err;

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	process.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process.directory < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	process.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* The directory is of the older process where the pid changed hands in between. */
	err = read_stat(process.directory, &process.start_time, &process.is_kernel_thread);
	if (err < 0) {
		process_close(&process);
		return err;
	}
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
	uint64_t start;
	bool kernel;
	int err;

	if (process->pidfd >= 0 && poll(&ended, 1, 0) > 0)
		return -ESRCH;
	err = read_stat(process->directory, &start, &kernel);
	return err < 0 || start == process->start_time ? err : -ESRCH;
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
	int err = read_at(process->directory, "status", text, sizeof(text));

	if (err < 0)
		return err;
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
