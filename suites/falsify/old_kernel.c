/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls newer than Linux 3.10 do not exist. See old_kernel.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "old_kernel.h"

/*
 * The newest system call of Linux 3.10, by architecture. Numbers are handed out in order, except
 * that an architecture may have been late in wiring one up.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define LAST_OF_3_10 313			/* finit_module */
#elif defined(__i386__)
#define ARCHITECTURE AUDIT_ARCH_I386
#define LAST_OF_3_10 350			/* finit_module */
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define LAST_OF_3_10 273			/* finit_module */
#elif defined(__arm__)
#define ARCHITECTURE AUDIT_ARCH_ARM
#define LAST_OF_3_10 379			/* finit_module; arm's own lie above 0xf0000 */
#elif defined(__s390x__)
#define ARCHITECTURE AUDIT_ARCH_S390X
#define LAST_OF_3_10 344			/* finit_module */
#endif

/*
 * Linux 3.10 as far as a filter can play it: newer system calls do not exist, and
 * perf_event_open knows no PERF_FLAG_FD_CLOEXEC (v3.14).
 */
int old_kernel_filter(void)
{
#ifdef LAST_OF_3_10
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[4]) +
				 (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 8, 4, 3),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0xf0000, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_OF_3_10, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
	};

	const struct sock_fprog program = { .len = sizeof(code) / sizeof(*code),
					    .filter = (struct sock_filter *)code };

	/* Root may filter without no_new_privs, which would itself be visible to the probe. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return 0;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return 0;
	dprintf(STDERR_FILENO, "launch: seccomp: %s\n", strerror(errno));
	return -errno;
#else
	dprintf(STDERR_FILENO, "launch: --old-kernel is not known for this architecture\n");
	return -ENOTSUP;
#endif
}
