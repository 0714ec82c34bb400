/* SPDX-License-Identifier: MIT */
/* See perfmodes_doctor.h. All is done in a child, so that nothing of it stays in the app. */
#define _GNU_SOURCE
#include "../perfmodes_doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filter.h"
#include "tell.h"

/* What the child tells its parent at its end. */
struct report {
	int err;
	unsigned int trapped;
	int call;
};

/* ------------------------------------------------------------------------------ the child */

/* The app's handlers are for the app: here a fault is to end the child. */
static void own_signals(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGCHLD };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		(void)sigaction(faults[i], &plain, NULL);
	doctor_answer_traps();
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void child(int out, int report, unsigned int flags)
{
	struct report said = { .err = 0 };
	char *all[] = { NULL };

	own_signals();
	doctor_ask_filter(false);
	__fpurge(stdout);	/* what the app has not yet written is not ours to write */
	/* An app may have no standard output: then the pipe is where that is to be. */
	if (report == STDOUT_FILENO)
		report = fcntl(report, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (dup2(out, STDOUT_FILENO) < 0) {
		said.err = -errno;
	} else {
		doctor_target = 0;
		said.err = doctor_examine(all, flags & PM_DOCTOR_JSON ? tell_json : tell_text);
		said.err = said.err < 0 ? said.err : 0;
	}
	said.trapped = doctor_traps.count;
	said.call = doctor_traps.call;
	(void)!write(report, &said, sizeof(said));
	_exit(0);
}

/* ----------------------------------------------------------------------------- the parent */

static int left_of(const struct timespec *began, int limit_ms)
{
	struct timespec now;
	long long passed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	passed = (now.tv_sec - began->tv_sec) * 1000LL + (now.tv_nsec - began->tv_nsec) / 1000000;
	return passed >= limit_ms ? 0 : (int)(limit_ms - passed);
}

/* Returns 1 with a report, 0 if the child ended without one, -ETIME, or -errno. */
static int wait_for(int fd, int limit_ms, struct report *ret)
{
	struct pollfd line = { .fd = fd, .events = POLLIN };
	struct timespec began;
	int found;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		found = poll(&line, 1, left_of(&began, limit_ms));
	} while (found < 0 && errno == EINTR);
	if (found <= 0)
		return found == 0 ? -ETIME : -errno;
	return read(fd, ret, sizeof(*ret)) == sizeof(*ret);
}

/* An app that ignores SIGCHLD has its children reaped by the kernel: then there is no status. */
static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

static int supervise(pid_t pid, int fd, int limit_ms, struct pm_doctor_end *end)
{
	struct report report = { .call = -1 };
	int err = wait_for(fd, limit_ms, &report);
	int status;

	if (err < 0)
		(void)kill(pid, SIGKILL);
	status = reap(pid);
	end->trapped = report.trapped;
	end->call = report.call;
	end->signal = WIFSIGNALED(status) && err == 0 ? WTERMSIG(status) : 0;
	if (err < 0)
		return err;
	return err > 0 ? report.err : -ECANCELED;
}

/* What is written to another fails in the child, which cannot tell that from a full disk. */
static int check_out(int out)
{
	const int flags = fcntl(out, F_GETFL);

	if (flags < 0)
		return -errno;
	return (flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY ? -EBADF : 0;
}

int pm_doctor_run(int out, unsigned int flags, int limit_ms, struct pm_doctor_end *ret)
{
	struct pm_doctor_end end = { .size = sizeof(end), .call = -1 };
	int line[2], err;
	pid_t pid;

	if ((flags & ~(unsigned int)PM_DOCTOR_JSON) != 0 || limit_ms < 0 ||
	    (ret != NULL && ret->size != sizeof(*ret)))
		return -EINVAL;
	err = check_out(out);
	if (err < 0)
		return err;
	if (pipe2(line, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		child(out, line[1], flags);
	err = -errno;
	close(line[1]);
	if (pid > 0)
		err = supervise(pid, line[0], limit_ms, &end);
	close(line[0]);
	if (ret != NULL)
		*ret = end;
	return err;
}
