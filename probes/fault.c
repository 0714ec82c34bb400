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
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../lib/pm_abi.h"
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

struct fault {
	const char *name;
	struct rule rules[4];
	uint16_t offset, size;		/* of the attr's bytes to clear; 0: no fault of the attr */
	uint8_t flag;			/* or, with size 8, the one flag to clear, counted from 1 */
};

#define RULES(...) .rules = { __VA_ARGS__ }
#define FIELD(member) .offset = offsetof(struct perf_event_attr, member), \
		      .size = sizeof(((struct perf_event_attr *)0)->member)
/* The flags follow read_format; a bit field has no offset of its own. */
#define FLAGS_OFFSET (offsetof(struct perf_event_attr, read_format) + 8)
#define FLAG(number) .offset = FLAGS_OFFSET, .size = 8, .flag = (number) + 1

static const struct fault faults[] = {
	{ "open-einval", RULES({ SYS_perf_event_open, ANY, EINVAL }) },
	{ "open-enosys", RULES({ SYS_perf_event_open, ANY, ENOSYS }) },
	{ "open-eacces", RULES({ SYS_perf_event_open, ANY, EACCES }) },
	{ "open-enoent", RULES({ SYS_perf_event_open, ANY, ENOENT }) },
	{ "open-emfile", RULES({ SYS_perf_event_open, ANY, EMFILE }) },
	{ "ioctl-nothing", RULES({ SYS_ioctl, PERF_IOCTL, 0 }) },
	{ "ioctl-einval", RULES({ SYS_ioctl, PERF_IOCTL, EINVAL }) },
	{ "enable-nothing", RULES({ SYS_ioctl, 1, 0xffff, '$' << 8 | 0, 0 }) },
	{ "disable-nothing", RULES({ SYS_ioctl, 1, 0xffff, '$' << 8 | 1, 0 }) },
	{ "mmap-einval",
	  RULES({ CALL_MMAP, 3, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED, EINVAL }) },
	{ "munmap-nothing", RULES({ SYS_munmap, ANY, 0 }) },
	{ "close-nothing", RULES({ SYS_close, ANY, 0 }) },
	{ "poll-nothing", RULES({ CALL_POLL, ANY, 0 },
				   { CALL_EPOLL, ANY, 0 },
				   { SYS_ppoll, ANY, 0 }) },
	{ "fcntl-nothing", RULES({ CALL_FCNTL, 1, ~0u, F_SETFL, 0 },
				   { CALL_FCNTL, 1, ~0u, F_SETSIG, 0 },
				   { CALL_FCNTL, 1, ~0u, F_SETOWN, 0 },
				   { CALL_FCNTL, 1, ~0u, F_SETOWN_EX, 0 }) },
	{ "prctl-nothing", RULES({ SYS_prctl, 0, ~0u, PR_TASK_PERF_EVENTS_DISABLE, 0 },
				   { SYS_prctl, 0, ~0u, PR_TASK_PERF_EVENTS_ENABLE, 0 },
				   { SYS_prctl, 0, ~0u, PR_SET_NAME, 0 }) },
	{ "affinity-nothing", RULES({ SYS_sched_setaffinity, ANY, 0 }) },
	{ "exec-eacces", RULES({ SYS_execve, ANY, EACCES }, { SYS_mprotect, ANY, EACCES }) },
	{ "attr-config1", FIELD(config1) },
	{ "attr-sample_period", FIELD(sample_period) },
	{ "attr-sample_type", FIELD(sample_type) },
	{ "attr-read_format", FIELD(read_format) },
	{ "attr-wakeup", FIELD(wakeup_events) },
	{ "attr-clockid", FIELD(clockid) },
	{ "attr-sample_max_stack", FIELD(sample_max_stack) },
	{ "attr-sig_data", FIELD(sig_data) },
	{ "attr-disabled", FLAG(0) },
	{ "attr-inherit", FLAG(1) },
	{ "attr-pinned", FLAG(2) },
	{ "attr-exclude_user", FLAG(4) },
	{ "attr-exclude_kernel", FLAG(5) },
	{ "attr-mmap", FLAG(8) },
	{ "attr-comm", FLAG(9) },
	{ "attr-freq", FLAG(10) },
	{ "attr-inherit_stat", FLAG(11) },
	{ "attr-enable_on_exec", FLAG(12) },
	{ "attr-task", FLAG(13) },
	{ "attr-watermark", FLAG(14) },
	{ "attr-mmap_data", FLAG(17) },
	{ "attr-sample_id_all", FLAG(18) },
	{ "attr-exclude_callchain_kernel", FLAG(21) },
	{ "attr-exclude_callchain_user", FLAG(22) },
	{ "attr-mmap2", FLAG(23) },
	{ "attr-comm_exec", FLAG(24) },
	{ "attr-use_clockid", FLAG(25) },
	{ "attr-context_switch", FLAG(26) },
	{ "attr-write_backward", FLAG(27) },
	{ "attr-namespaces", FLAG(28) },
	{ "attr-build_id", FLAG(34) },
	{ "attr-inherit_thread", FLAG(35) },
	{ "attr-remove_on_exec", FLAG(36) },
	{ "attr-sigtrap", FLAG(37) },
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

const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (!strcmp(name, faults[i].name))
			return &faults[i];
	return NULL;
}

/* Hand a descriptor to the process at the other end. */
static int send_descriptor(int socket, int descriptor)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	return sendmsg(socket, &message, 0) < 0 ? -errno : 0;
}

int fault_listener(const struct fault *fault, int socket)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int descriptor = -1;

	if (fault->size && recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(&descriptor, CMSG_DATA(&control.header), sizeof(int));
	return descriptor;
}

/* Without the fault's field. Nothing beyond attr->size is touched: it is not the caller's. */
static void strip(const struct fault *fault, struct perf_event_attr *attr)
{
	uint64_t flags;

	if (!fault->flag) {
		memset((char *)attr + fault->offset, 0, fault->size);
		return;
	}
	memcpy(&flags, (char *)attr + fault->offset, sizeof(flags));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	flags &= ~(1ull << (64 - fault->flag));
#else
	flags &= ~(1ull << (fault->flag - 1));
#endif
	memcpy((char *)attr + fault->offset, &flags, sizeof(flags));
}

void fault_answer(const struct fault *fault, int listener)
{
	struct perf_event_attr attr = { 0 };
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp answer = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	struct iovec here = { .iov_base = &attr, .iov_len = PERF_ATTR_SIZE_VER0 };
	struct iovec there = here;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return;
	there.iov_base = (void *)(uintptr_t)call.data.args[0];
	if (process_vm_readv(call.pid, &here, 1, &there, 1, 0) == PERF_ATTR_SIZE_VER0) {
		if (attr.size > PERF_ATTR_SIZE_VER0 && attr.size <= sizeof(attr))
			here.iov_len = there.iov_len = attr.size;
		if (process_vm_readv(call.pid, &here, 1, &there, 1, 0) > 0 &&
		    fault->offset + fault->size <= here.iov_len) {
			strip(fault, &attr);
			process_vm_writev(call.pid, &here, 1, &there, 1, 0);
		}
	}
	answer.id = call.id;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Stop at each perf_event_open and ask the listener's holder. */
static int inject_liar(int socket)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(*code),
					    .filter = (struct sock_filter *)code };
	int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			       SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	int error = listener < 0 ? -errno : send_descriptor(socket, listener);

	if (listener >= 0)
		close(listener);
	return error;
}

int fault_inject(const struct fault *fault, int socket)
{
	static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_filter code[32];
	size_t length = 0;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (fault->size)
		return inject_liar(socket);
	for (size_t j = 0; j < 4 && fault->rules[j].call; j++)
		length += compile(&fault->rules[j], code + length);
	code[length++] = allow;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		  &(struct sock_fprog){ .len = length, .filter = code }) < 0)
		return -errno;
	return 0;
}
