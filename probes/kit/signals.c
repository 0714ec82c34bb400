/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See signals.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "internal.h"
#include "say.h"
#include "signals.h"

/* Let an event send a thread a real-time signal, which is blocked in this thread and in those it
 * starts. So is SIGIO, which comes in its place where F_SETSIG has no effect. Returns 0 or
 * -errno. */
static int ask_for_signals(int fd, int number, pid_t tid)
{
	struct f_owner_ex owner = { F_OWNER_TID, tid };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigaddset(&set, SIGIO);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, number) < 0 ||
	       fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) < 0 ? -errno : 0;
}

void must_get_signals(int fd, int number, pid_t tid)
{
	int error = ask_for_signals(fd, number, tid);

	if (error)
		say_unknown("F_SETOWN_EX, F_SETSIG or O_ASYNC: %s", pm_errno_name(error));
}

bool take_signal(int number, int within_ms, siginfo_t *ret)
{
	const struct timespec time = { within_ms / 1000, within_ms % 1000 * 1000000l };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	if (sigtimedwait(&set, ret, &time) == number)
		return true;
	sigpending(&set);
	if (in_test_thread() && sigismember(&set, SIGIO) == 1)
		say_broken("SIGIO came in place of signal %d, which F_SETSIG had asked for",
			   number);
	return false;
}
