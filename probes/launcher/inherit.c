/* SPDX-License-Identifier: GPL-2.0-only */
/* What a probe inherits. See inherit.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inherit.h"

#ifndef SYS_close_range			/* v5.9; the same number everywhere but on Alpha */
#define SYS_close_range 436
#endif
#define CLOSE_RANGE_CLOEXEC_BIT 4	/* v5.11 */
#define DESCRIPTORS_MAX (1 << 20)
#define VARIABLES_MAX 32

static void close_at_exec(int fd)
{
	const int flags = fcntl(fd, F_GETFD);

	if (flags >= 0)
		fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

/* Without the call: those that /proc lists or, without /proc either, every number. */
static void close_each_at_exec(void)
{
	DIR *listed = opendir("/proc/self/fd");
	struct rlimit limit = { .rlim_cur = DESCRIPTORS_MAX };
	struct dirent *entry;

	while (listed && (entry = readdir(listed)))
		if (atoi(entry->d_name) > STDERR_FILENO)
			close_at_exec(atoi(entry->d_name));
	if (listed) {
		closedir(listed);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	for (rlim_t fd = STDERR_FILENO + 1; fd < limit.rlim_cur && fd < DESCRIPTORS_MAX; fd++)
		close_at_exec((int)fd);
}

int inherit_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	else if (fcntl(STDIN_FILENO, F_GETFD) < 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0 ||
		 fcntl(STDERR_FILENO, F_GETFD) < 0)
		return -EBADF;		/* without /dev/null, only one that is needed is missed */
	if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC_BIT) < 0)
		close_each_at_exec();
	return 0;
}

void inherit_signals(void)
{
	sigset_t empty;

	for (int number = 1; number <= SIGRTMAX; number++)
		signal(number, SIG_DFL);
	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
}

char **inherit_environment(void)
{
	static const char *const names[] = { "PATH=", "LC_ALL=", "PERFMODES_" };
	static char *kept[VARIABLES_MAX + 1];
	size_t count = 0;

	for (char **at = environ; at && *at; at++)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strncmp(*at, names[i], strlen(names[i])) && count < VARIABLES_MAX)
				kept[count++] = *at;
	kept[count] = NULL;
	return kept;
}
