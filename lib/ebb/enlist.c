/* SPDX-License-Identifier: MIT */
/*
 * A thread's registers are its own to write, so a thread that is to be sampled is asked by a signal
 * to arm itself. What is done in the handler is system calls and registers alone. The signal is one
 * that is ignored by default: where it is pending during an exec(2), it ends nothing.
 */
#define _GNU_SOURCE
#include "strategy.h"

#ifdef PM_HAS_EBB

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../pm_sys.h"

#define ANSWER_NS 1000000000ull

static int number;			/* of the signal; 0: none */
static struct sigaction before;

static void obey(struct ebb_thread *thread)
{
	int err = 0;

	if (!thread->wanted) {
		pm_ebb_leave(&thread->ebb);
	} else {
		err = pm_ebb_enter(&thread->ebb, thread->opts, NULL);
		if (err == 0)
			err = pm_ebb_start(&thread->ebb, NULL);
		if (err < 0)
			pm_ebb_leave(&thread->ebb);
	}
	__atomic_store_n(&thread->state, err, __ATOMIC_RELEASE);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const int saved = errno;

	(void)signal;
	(void)context;
	if (info->si_code == SI_QUEUE && info->si_pid == getpid() && info->si_value.sival_ptr)
		obey(info->si_value.sival_ptr);
	errno = saved;
}

int pm_ebb_enlist_begin(void)
{
	static const int numbers[] = { SIGURG, SIGWINCH };
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };

	if (number != 0)
		return -EBUSY;
	action.sa_sigaction = on_signal;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_DFL)
			continue;
		if (sigaction(numbers[i], &action, NULL) != 0)
			return -errno;
		number = numbers[i];
		return 0;
	}
	return -EBUSY;
}

void pm_ebb_enlist_end(void)
{
	struct sigaction ignore = { .sa_flags = 0 };

	if (number == 0)
		return;
	ignore.sa_handler = SIG_IGN;	/* throws away what is pending */
	(void)sigaction(number, &ignore, NULL);
	(void)sigaction(number, &before, NULL);
	number = 0;
}

static int ask(struct ebb_thread *thread)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = number;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = thread;
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread->tid, number, &info) == 0 ? 0 :
		-errno;
}

int pm_ebb_enlist(struct ebb_thread *thread)
{
	const struct timespec moment = { 0, 200000 };
	uint64_t now = 0, end;
	int err;

	thread->state = 1;
	if (thread->tid == (pid_t)syscall(SYS_gettid)) {
		obey(thread);
		return thread->state;
	}
	err = ask(thread);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &end);
	end += ANSWER_NS;
	while (err == 0 && __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == 1) {
		(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
		if (now > end)
			return -ETIME;
		if (syscall(SYS_tgkill, getpid(), thread->tid, 0) != 0)
			return -ESRCH;
		(void)nanosleep(&moment, NULL);
	}
	return err < 0 ? err : thread->state;
}

#endif
