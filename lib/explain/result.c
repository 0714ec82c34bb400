/* SPDX-License-Identifier: MIT */
/* What a stopped thread has just got from a system call: the register that holds it. */
#include "explain.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define ERESTARTNOINTR 513L	/* of the kernel alone: a call that is made again */

#if defined(__x86_64__)
enum { RESULT = 10, RESULT_NARROW = 6 };	/* rax, and eax of a 32-bit program */
#elif defined(__i386__)
enum { RESULT = 6, RESULT_NARROW = 6 };
#elif defined(__aarch64__) || defined(__arm__)
enum { RESULT = 0, RESULT_NARROW = 0 };
#elif defined(__riscv)
enum { RESULT = 10, RESULT_NARROW = 10 };
#elif defined(__s390x__)
enum { RESULT = 4, RESULT_NARROW = 4 };		/* behind the mask and the address: gprs[2] */
#else
enum { RESULT = -1, RESULT_NARROW = -1 };	/* with a flag beside it, or not tried */
#endif

bool result_is_known_here(void)
{
	return RESULT >= 0;
}

/* Where the kernel looks at the result behind the stop: there it may still ask for a restart. */
#if defined(__x86_64__)
int result_restart(pid_t tid)
{
	union { unsigned long wide[64]; uint32_t narrow[128]; } regs = { { 0 } };
	struct iovec vector = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &vector) != 0)
		return -errno;
	if (vector.iov_len <= 18 * sizeof(uint32_t))
		regs.narrow[RESULT_NARROW] = (uint32_t)-ERESTARTNOINTR;
	else
		regs.wide[RESULT] = (unsigned long)-ERESTARTNOINTR;
	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &vector) == 0 ? 0 : -errno;
}
#else
int result_restart(pid_t tid)
{
	(void)tid;
	return -ENOTSUP;
}
#endif

int result_of_stopped(pid_t tid, int64_t *ret)
{
	union { unsigned long wide[64]; uint32_t narrow[128]; } regs = { { 0 } };
	struct iovec vector = { &regs, sizeof(regs) };

	if (RESULT < 0)
		return -ENOTSUP;
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &vector) != 0)
		return -errno;
	/* The registers of a 32-bit program are fewer and half as wide. */
	if (sizeof(long) == 8 && vector.iov_len <= 18 * sizeof(uint32_t))
		*ret = (int32_t)regs.narrow[RESULT_NARROW];
	else
		*ret = (long)regs.wide[RESULT];
	return 0;
}
