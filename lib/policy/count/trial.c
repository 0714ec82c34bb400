/* SPDX-License-Identifier: MIT */
/*
 * A child that tries an instruction. See trial.h.
 *
 * The child has the memory of its parent (CLONE_VM): x86 permits rdpmc by address space, and
 * nothing of a large program has to be copied. It may not die of a signal: before v5.16
 * (0258b5fd7c71) the dump of its core would kill every process that shares the memory, the parent
 * among them. So it catches the signals, by handlers of its own, and ends itself.
 *
 * It has the parent's thread area, as a child of vfork(2): the parent stands still meanwhile.
 */
#define _GNU_SOURCE
#include "trial.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)256 << 10)	/* a signal's frame may hold wide vector registers */

static const int traps[] = { SIGSEGV, SIGILL, SIGBUS };

#define TRAPS (sizeof(traps) / sizeof(traps[0]))

/* The kernel's own structure: not sigaction(3), which others wrap to keep books of handlers. */
struct kernel_action {
	void (*handler)(int signal);
	unsigned long flags;
#ifndef __riscv
	void (*restorer)(int signal);
#endif
	uint64_t mask;
};

struct trial {
	void (*attempt)(void *context);
	void *context;
	volatile bool survived;
};

static void end(int signal)
{
	(void)signal;
	(void)syscall(SYS_exit_group, 1L);
}

static bool catch_traps(void)
{
	const struct kernel_action action = {
		.handler = end,
#ifndef __riscv
		/* x86 does not deliver without one; it is never called: end() does not return. */
		.flags = 0x04000000 /* SA_RESTORER */,
		.restorer = end,
#endif
	};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < TRAPS; i++) {
		if (syscall(SYS_rt_sigaction, (long)traps[i], &action, NULL,
			    (long)sizeof(action.mask)) != 0)
			return false;
		(void)sigaddset(&set, traps[i]);
	}
	return pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0;
}

static int try(void *argument)
{
	struct trial *trial = argument;

	if (catch_traps()) {
		trial->attempt(trial->context);
		trial->survived = true;
	}
	return 0;
}

/* With every signal blocked, the child gets none that is meant for a group of processes. */
static bool run(struct trial *trial, char *stack)
{
	sigset_t all, before;
	pid_t pid;

	(void)sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	pid = clone(try, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, trial);
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid > 0 && trial->survived;
}

bool pm_trial(void (*attempt)(void *context), void *context)
{
	struct trial trial = { .attempt = attempt, .context = context };
	char *stack = malloc(STACK_SIZE);
	bool survived;

	if (stack == NULL)
		return false;
	survived = run(&trial, stack);
	free(stack);
	return survived;
}
