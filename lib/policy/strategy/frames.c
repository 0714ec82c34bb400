/* SPDX-License-Identifier: MIT */
/*
 * Frame pointers lead from frame to frame, up the stack: each points to the caller's, with the
 * return address at a fixed distance. In code that keeps none the register holds anything, so no
 * address is read before the kernel has said that it can be.
 */
#define _GNU_SOURCE
#include "frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE_LEAST 4096
#define STACK_MOST ((uintptr_t)64 << 20)	/* no frame is that far from the stack pointer */

/* Where the chain begins, and at which distance from a link its words are. */
struct start {
	uintptr_t frame, stack;
	ptrdiff_t link, address;	/* bytes */
	bool skip;			/* the first frame has no return address of its own yet */
};

static bool start_of(const void *context, struct start *ret)
{
	const ucontext_t *at = context;

	*ret = (struct start){ .address = sizeof(uintptr_t) };
#if defined(__x86_64__)
	ret->frame = (uintptr_t)at->uc_mcontext.gregs[REG_RBP];
	ret->stack = (uintptr_t)at->uc_mcontext.gregs[REG_RSP];
#elif defined(__i386__)
	ret->frame = (uintptr_t)at->uc_mcontext.gregs[REG_EBP];
	ret->stack = (uintptr_t)at->uc_mcontext.gregs[REG_ESP];
#elif defined(__aarch64__)
	ret->frame = (uintptr_t)at->uc_mcontext.regs[29];
	ret->stack = (uintptr_t)at->uc_mcontext.sp;
#elif defined(__riscv)
	ret->frame = (uintptr_t)at->uc_mcontext.__gregs[8];
	ret->stack = (uintptr_t)at->uc_mcontext.__gregs[2];
	ret->link = -2 * (ptrdiff_t)sizeof(uintptr_t);
	ret->address = -(ptrdiff_t)sizeof(uintptr_t);
#elif defined(__powerpc64__)
	/* The word at 16 of a frame is for its callees' return address. */
	ret->frame = ret->stack = (uintptr_t)at->uc_mcontext.gp_regs[1];
	ret->address = 16;
	ret->skip = true;
#else
	(void)at;
	return false;
#endif
	return true;
}

/*
 * Asks the kernel to read a signal mask from there, and to do what it cannot: EFAULT without the
 * memory, EINVAL with it. Filters of system calls let that one through.
 */
static bool is_readable(uintptr_t address)
{
	const uintptr_t page = address & ~(uintptr_t)(PAGE_LEAST - 1);

	return syscall(SYS_rt_sigprocmask, -1, (void *)page, NULL, 8) == 0 || errno != EFAULT;
}

/* Whether a word can be read: asked once for each page, and they are walked in order. */
static bool may_read(uintptr_t address, uintptr_t *known)
{
	const uintptr_t page = address / PAGE_LEAST;

	if (address % sizeof(uintptr_t) != 0 || page == 0)
		return false;
	if (page == *known)
		return true;
	if (!is_readable(address))
		return false;
	*known = page;
	return true;
}

/* Not ours to check: what lies between two frames are other functions' variables. */
__attribute__((no_sanitize("address", "thread")))
static uintptr_t word_at(uintptr_t address)
{
	return *(const volatile uintptr_t *)address;
}

unsigned int pm_frames_walk(const void *context, uint64_t ret[FRAMES_DEPTH])
{
	uintptr_t known = 0;
	unsigned int count = 0;
	struct start at;

	if (!start_of(context, &at))
		return 0;
	while (count < FRAMES_DEPTH && at.frame >= at.stack && at.frame - at.stack < STACK_MOST) {
		const uintptr_t link = at.frame + (uintptr_t)at.link;
		const uintptr_t address = at.frame + (uintptr_t)at.address;
		uintptr_t next;

		if (!may_read(link, &known) || !may_read(address, &known))
			break;
		next = word_at(link);
		if (!at.skip && word_at(address) < PAGE_LEAST)
			break;
		if (!at.skip)
			ret[count++] = word_at(address);
		at.skip = false;
		if (next <= at.frame)
			break;
		at.frame = next;
	}
	return count;
}
