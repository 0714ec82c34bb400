/* SPDX-License-Identifier: MIT */
/*
 * An event that is taken away takes write access to the counters with it, at any time: the write
 * that comes next is skipped, and its set of counters knows that it is evicted. Other SIGILLs go to
 * whoever had the signal before.
 */
#define _GNU_SOURCE
#include "ebb.h"

#ifdef PM_HAS_EBB

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#define NIP 32				/* PT_NIP of the kernel's <asm/ptrace.h> */

extern const int __start_pm_ebb_writes[] __attribute__((visibility("hidden")));
extern const int __stop_pm_ebb_writes[] __attribute__((visibility("hidden")));

static struct sigaction before;
static bool installed;			/* atomic */

static bool is_listed(uintptr_t address)
{
	for (const int *at = __start_pm_ebb_writes; at < __stop_pm_ebb_writes; at++)
		if ((uintptr_t)at + (uintptr_t)(intptr_t)*at == address)
			return true;
	return false;
}

/* What the default does: the instruction is executed again, or the signal is sent again. */
static void end_by(int number, const siginfo_t *info)
{
	(void)signal(number, SIG_DFL);
	if (info->si_code <= 0)
		(void)raise(number);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	/* The kernel does not let a program ignore its own illegal instructions. */
	else if (before.sa_handler == SIG_DFL || info->si_code > 0)
		end_by(number, info);
}

static void on_illegal(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	if (!is_listed((uintptr_t)at->uc_mcontext.gp_regs[NIP])) {
		pass_on(number, info, context);
		return;
	}
	at->uc_mcontext.gp_regs[NIP] += 4;
	if (pm_ebb_of_thread != NULL)
		pm_ebb_of_thread->evicted = true;
}

/*
 * Several threads may come here at once, one of them in a handler that interrupts another: nobody
 * waits. All find the same action of the program, note it and set the same handler.
 */
int pm_ebb_guard(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

	if (sigaction(SIGILL, NULL, &now) != 0)
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_illegal)
		return 0;
	if (__atomic_load_n(&installed, __ATOMIC_SEQ_CST))
		return 0;	/* the program has taken it over, and has to chain */
	before = now;
	action.sa_sigaction = on_illegal;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGILL, &action, NULL) != 0)
		return -errno;
	__atomic_store_n(&installed, true, __ATOMIC_SEQ_CST);
	return 0;
}

#endif
