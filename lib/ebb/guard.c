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
static int installed;			/* atomic: 0 no, 1 under way, 2 yes */

static bool is_listed(uintptr_t address)
{
	for (const int *at = __start_pm_ebb_writes; at < __stop_pm_ebb_writes; at++)
		if ((uintptr_t)at + (uintptr_t)(intptr_t)*at == address)
			return true;
	return false;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler == SIG_DFL) {
		/* The instruction is executed again, and ends the process. */
		(void)sigaction(SIGILL, &before, NULL);
	} else if (before.sa_handler != SIG_IGN || info->si_code > 0) {
		before.sa_handler(number);
	}
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

int pm_ebb_guard(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;
	int state = 0;

	if (sigaction(SIGILL, NULL, &now) != 0)
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_illegal)
		return 0;
	if (!__atomic_compare_exchange_n(&installed, &state, 1, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return 0;	/* the program has taken it over, and has to chain */
	before = now;
	action.sa_sigaction = on_illegal;
	sigemptyset(&action.sa_mask);
	return sigaction(SIGILL, &action, NULL) == 0 ? 0 : -errno;
}

#endif
