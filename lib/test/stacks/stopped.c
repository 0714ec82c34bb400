/* SPDX-License-Identifier: MIT */
/*
 * The stack of a thread that this program stops with ptrace, as the library unwinds it: a line a
 * frame, "ADDRESS NAME", then "end: WHY".
 *
 *   stopped PID [TID]
 *
 * STOPPED_DEBUG_ROOT has debug files instead of /usr/lib/debug; with STOPPED_DEBUGINFOD the servers
 * of $DEBUGINFOD_URLS are asked.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../../perfmodes_stacks.h"

#define REGS_MAX 64

/* The registers that pm_unwinder_registers() asks for, in the kernel's order of samples. */
static size_t take_registers(pid_t tid, uint64_t *regs)
{
	unsigned long raw[REGS_MAX] = { 0 };
	struct iovec area = { raw, sizeof(raw) };
	size_t count = 0;

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &area) != 0)
		return 0;
#if defined(__x86_64__)
	const struct user_regs_struct *user = (const void *)raw;
	const uint64_t all[] = { user->rax, user->rbx, user->rcx, user->rdx, user->rsi, user->rdi,
				 user->rbp, user->rsp, user->rip, user->r8, user->r9, user->r10,
				 user->r11, user->r12, user->r13, user->r14, user->r15 };

	count = sizeof(all) / sizeof(all[0]);
	memcpy(regs, all, sizeof(all));
#elif defined(__aarch64__)
	count = 33;		/* x0-x30, sp, pc: the same order */
	memcpy(regs, raw, count * sizeof(uint64_t));
#elif defined(__powerpc64__)
	memcpy(regs, raw, 33 * sizeof(uint64_t));	/* r0-r31, nip */
	regs[33] = raw[35];				/* ctr */
	regs[34] = raw[36];				/* link */
	count = 35;
#endif
	return count;
}

static void show(struct pm_symbols *symbols, struct pm_unwinder *unwinder,
		 const struct pm_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++) {
		struct pm_symbol symbol = { .size = sizeof(symbol) };

		pm_symbols_find(symbols, unwinder, stack->addresses[i], stack->frames[i], &symbol);
		printf("%llx %s %s%s\n", (unsigned long long)stack->addresses[i],
		       symbol.name ? symbol.name : "?", symbol.module,
		       stack->frames[i] & PM_FRAME_SIGNAL ? " interrupted" : "");
	}
	printf("end: %s\n", pm_stack_end_text(stack->end));
}

int main(int argc, char **argv)
{
	const pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	const pid_t tid = argc > 2 ? atoi(argv[2]) : pid;
	const struct pm_symbols_opts names = {
		.size = sizeof(names), .debug_root = getenv("STOPPED_DEBUG_ROOT"),
		.debuginfod = getenv("STOPPED_DEBUGINFOD") != NULL,
	};
	struct pm_symbols *symbols = pm_symbols_create(&names);
	const struct pm_unwinder_opts opts = { .size = sizeof(opts), .symbols = symbols,
					       .time_limit = 60000000000 };
	struct pm_stack stack = { .size = sizeof(stack) };
	uint64_t regs[REGS_MAX];
	const struct pm_stack_sample sample = {
		.size = sizeof(sample), .pid = pid, .tid = tid, .regs_abi = 2, .regs = regs,
		.regs_mask = pm_unwinder_registers(),
	};
	struct pm_unwinder *unwinder;
	int err;

	if (symbols == NULL)
		return 1;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || waitpid(tid, NULL, __WALL) != tid ||
	    take_registers(tid, regs) == 0) {
		pm_symbols_destroy(symbols);
		return 77;
	}
	err = pm_unwinder_open(pid, &opts, &unwinder);
	if (err < 0) {
		fprintf(stderr, "stopped: %s\n", strerror(-err));
	} else {
		pm_unwinder_stack(unwinder, &sample, &stack);
		show(symbols, unwinder, &stack);
		pm_unwinder_destroy(unwinder);
	}
	pm_symbols_destroy(symbols);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return err < 0;
}
