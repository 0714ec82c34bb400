/* SPDX-License-Identifier: MIT */
/* The switch: a sysctl of arm64 and riscv, a file of the PMU on x86. See access.h. */
#define _GNU_SOURCE
#include "access.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const paths[] = {
	"/proc/sys/kernel/perf_user_access",
	"/sys/bus/event_source/devices/cpu/rdpmc",
	"/sys/bus/event_source/devices/cpu_core/rdpmc",
};

static const char *path;	/* NULL: there is no switch */
static char before;
static bool may_set;

static bool put(char value)
{
	int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, &value, 1) == 1;
	close(fd);
	return done;
}

static bool get(const char *of, char *ret)
{
	int fd = open(of, O_RDONLY | O_CLOEXEC);
	bool done = fd >= 0 && read(fd, ret, 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

void access_restore(void)
{
	if (may_set)
		(void)put(before);
}

static void restore_and_end(int number)
{
	access_restore();
	_exit(128 + number);
}

bool access_set(bool on)
{
	return may_set && put(on ? '1' : '0');
}

enum kind access_open(bool may_disturb, char *text, size_t size)
{
	const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGILL, SIGBUS, SIGABRT };
	const struct sigaction action = { .sa_handler = restore_and_end };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && path == NULL; i++)
		if (get(paths[i], &before))
			path = paths[i];
	if (path == NULL)
		return YES;
	may_set = may_disturb && access(path, W_OK) == 0;
	if (may_set)
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			(void)sigaction(signals[i], &action, NULL);
	if (before != '0' || access_set(true))
		return YES;
	snprintf(text, size, may_disturb ? "%s is 0" : "%s is 0; would be set to 1 with "
		 "--may-disturb only", path);
	return BLOCKED;
}
