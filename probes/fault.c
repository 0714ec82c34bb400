/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults as a table of system calls, arguments and false answers. See fault.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "fault.h"

#ifdef SYS_mmap2
#define CALL_MMAP SYS_mmap2
#else
#define CALL_MMAP SYS_mmap
#endif
#ifdef SYS_poll
#define CALL_POLL SYS_poll
#else
#define CALL_POLL SYS_ppoll
#endif
#ifdef SYS_epoll_wait
#define CALL_EPOLL SYS_epoll_wait
#else
#define CALL_EPOLL SYS_epoll_pwait
#endif
#ifdef SYS_fcntl64
#define CALL_FCNTL SYS_fcntl64
#else
#define CALL_FCNTL SYS_fcntl
#endif

/* A call with (argument & mask) == value answers `error`; 0 is success without a deed. */
struct rule {
	int call;
	int argument;
	uint32_t mask, value;
	int error;
};

#define ANY 0, 0, 0				/* whatever the arguments are */
#define PERF_IOCTL 1, 0xff00, '$' << 8		/* the commands of perf events */

static const struct fault {
	const char *name;
	struct rule rules[4];
} faults[] = {
	{ "open-einval", { { SYS_perf_event_open, ANY, EINVAL } } },
	{ "open-enosys", { { SYS_perf_event_open, ANY, ENOSYS } } },
	{ "open-eacces", { { SYS_perf_event_open, ANY, EACCES } } },
	{ "open-enoent", { { SYS_perf_event_open, ANY, ENOENT } } },
	{ "open-emfile", { { SYS_perf_event_open, ANY, EMFILE } } },
	{ "ioctl-nothing", { { SYS_ioctl, PERF_IOCTL, 0 } } },
	{ "ioctl-einval", { { SYS_ioctl, PERF_IOCTL, EINVAL } } },
	{ "enable-nothing", { { SYS_ioctl, 1, 0xffff, '$' << 8 | 0, 0 } } },
	{ "disable-nothing", { { SYS_ioctl, 1, 0xffff, '$' << 8 | 1, 0 } } },
	{ "mmap-einval", { { CALL_MMAP, 3, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED, EINVAL } } },
	{ "munmap-nothing", { { SYS_munmap, ANY, 0 } } },
	{ "close-nothing", { { SYS_close, ANY, 0 } } },
	{ "poll-nothing", { { CALL_POLL, ANY, 0 },
			    { CALL_EPOLL, ANY, 0 },
			    { SYS_ppoll, ANY, 0 } } },
	{ "fcntl-nothing", { { CALL_FCNTL, 1, ~0u, F_SETFL, 0 },
			     { CALL_FCNTL, 1, ~0u, F_SETSIG, 0 },
			     { CALL_FCNTL, 1, ~0u, F_SETOWN, 0 },
			     { CALL_FCNTL, 1, ~0u, F_SETOWN_EX, 0 } } },
	{ "prctl-nothing", { { SYS_prctl, 0, ~0u, PR_TASK_PERF_EVENTS_DISABLE, 0 },
			     { SYS_prctl, 0, ~0u, PR_TASK_PERF_EVENTS_ENABLE, 0 },
			     { SYS_prctl, 0, ~0u, PR_SET_NAME, 0 } } },
	{ "affinity-nothing", { { SYS_sched_setaffinity, ANY, 0 } } },
	{ "exec-eacces", { { SYS_execve, ANY, EACCES }, { SYS_mprotect, ANY, EACCES } } },
};

void fault_list(FILE *to)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		fprintf(to, "%s\n", faults[i].name);
}

/* Offset of the low half of an argument. */
static uint32_t argument_offset(int argument)
{
	return offsetof(struct seccomp_data, args[0]) + 8 * argument +
	       (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);
}

static size_t compile(const struct rule *rule, struct sock_filter *code)
{
	const struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->call, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_offset(rule->argument)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule->mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | rule->error),
	};

	memcpy(code, steps, sizeof(steps));
	return sizeof(steps) / sizeof(*steps);
}

int fault_inject(const char *name)
{
	static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_filter code[32];
	size_t length = 0;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		if (strcmp(name, faults[i].name))
			continue;
		for (size_t j = 0; j < 4 && faults[i].rules[j].call; j++)
			length += compile(&faults[i].rules[j], code + length);
	}
	if (!length)
		return -ENOENT;
	code[length++] = allow;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		  &(struct sock_fprog){ .len = length, .filter = code }) < 0)
		return -errno;
	return 0;
}
