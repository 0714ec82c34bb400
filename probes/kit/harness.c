/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting for a test by its process id, with SIGALRM as the clock: what every kernel has. See
 * harness.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

long harness_syscall(long number, ...);
int harness_poll(struct pollfd *test, nfds_t count, int ms);
int harness_close(int test);

static volatile pid_t watched;
static volatile sig_atomic_t timed_out;

/* In place of a descriptor of the test's process: its id. */
long harness_syscall(long number, ...)
{
	va_list arguments;
	pid_t test;

	if (number != SYS_pidfd_open) {
		errno = ENOSYS;
		return -1;
	}
	va_start(arguments, number);
	test = va_arg(arguments, pid_t);
	va_end(arguments);
	return test;
}

static void kill_test(int number)
{
	(void)number;
	timed_out = 1;
	kill(-watched, SIGKILL);
}

/* 1 when the test has ended, 0 when it was killed because its time is over. It stays to be waited
 * for either way. */
int harness_poll(struct pollfd *test, nfds_t count, int ms)
{
	struct sigaction action = { .sa_handler = kill_test }, saved;
	siginfo_t info;
	int status;

	(void)count;
	watched = test->fd;
	timed_out = 0;
	if (sigaction(SIGALRM, &action, &saved) < 0)
		return -1;
	alarm((unsigned int)ms / 1000);
	do {
		status = waitid(P_PID, (id_t)watched, &info, WEXITED | WNOWAIT);
	} while (status < 0 && errno == EINTR);
	alarm(0);
	sigaction(SIGALRM, &saved, NULL);
	return status < 0 ? -1 : !timed_out;
}

int harness_close(int test)
{
	(void)test;
	return 0;
}
