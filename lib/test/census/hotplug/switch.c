/* SPDX-License-Identifier: MIT */
/* Switching a CPU off and on. See switch.h. */
#define _GNU_SOURCE
#include "switch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../pm_sys.h"

int switch_cpu = -1;
static char path[64];

/* That it is so already is EINVAL on old kernels (seen on 3.10). */
int switch_write(char value)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), err = 0;
	char now;

	if (fd < 0)
		return -errno;
	if (pread(fd, &now, 1, 0) != 1 || now != value)
		err = pwrite(fd, &value, 1, 0) == 1 ? 0 : -errno;
	close(fd);
	return err;
}

static void consider(unsigned int candidate, void *context)
{
	char name[sizeof(path)];

	(void)context;
	snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%u/online", candidate);
	if (candidate == 0 || access(name, F_OK) != 0)
		return;
	switch_cpu = (int)candidate;
	memcpy(path, name, sizeof(path));
}

void switch_find(void)
{
	char text[4096];

	if (pm_read_text("/sys/devices/system/cpu/online", text, sizeof(text)) > 0)
		(void)pm_cpulist_each(text, consider, NULL);
}

static void put_back_and_end(int number)
{
	(void)switch_write('1');
	_exit(128 + number);
}

void switch_stand_guard(void)
{
	const struct sigaction action = { .sa_handler = put_back_and_end };
	pid_t child;
	int status;

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
		return;
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	(void)switch_write('1');
	if (child < 0 || !WIFEXITED(status))
		_exit(4);
	_exit(WEXITSTATUS(status));
}

bool switch_is_allowed(void)
{
	return access(path, W_OK) == 0;
}
