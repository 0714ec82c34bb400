/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults as a table of system calls, arguments and false answers. See fault.h and seccomp_notify.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../../lib/pm_abi.h"
#include "fault.h"
#include "seccomp_notify.h"

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

#ifdef SYS_ftruncate64
#undef SYS_ftruncate
#define SYS_ftruncate SYS_ftruncate64
#endif
#ifdef SYS__llseek
#undef SYS_lseek
#define SYS_lseek SYS__llseek
#endif

#define ANY 0, 0, 0				/* whatever the arguments are */
#define PERF_IOCTL 1, 0xff00, '$' << 8		/* the commands of perf events */

#define RULES(...) .rules = { __VA_ARGS__ }
/* One command of an event answers success, and nothing happens. */
#define COMMAND(title, number) { title, RULES({ SYS_ioctl, 1, 0xffff, '$' << 8 | (number), 0 }) }
#define LET(number) { SYS_ioctl, 1, 0xffff, '$' << 8 | (number), RULE_ALLOW }

static const struct fault faults[] = {
	COMMAND("enable-nothing", 0),
	{ "ioctl-nothing", RULES({ SYS_ioctl, PERF_IOCTL, 0 }) },
	{ "ioctl-rest-nothing", RULES(LET(0), LET(1), LET(7), { SYS_ioctl, PERF_IOCTL, 0 }) },
	{ "open-accepts", .kind = FAULT_ACCEPT },
	{ "open-entrusts", .kind = FAULT_ENTRUST },
	{ "open-enomsg", .kind = FAULT_ERRNO },
	{ "open-old", .kind = FAULT_OLD },
	{ "open-size", .kind = FAULT_SIZE },
	{ "open-pointer", .kind = FAULT_POINTER },
	{ "series-3.10", .kind = FAULT_SERIES, .series = 3 << 8 | 10 },
	{ "series-4.4", .kind = FAULT_SERIES, .series = 4 << 8 | 4 },
	{ "series-4.19", .kind = FAULT_SERIES, .series = 4 << 8 | 19 },
	{ "read-zeros", .kind = FAULT_READ },
	{ "read-more", .kind = FAULT_READ_MORE },
	{ "ioctl-accepts", .kind = FAULT_ORDER },
	{ "mmap-accepts", .kind = FAULT_MAP },
	{ "mmap-einval",
	  RULES({ CALL_MMAP, 3, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED, EINVAL }) },
	{ "sysctls-missing", .kind = FAULT_MISSING, .path = "/proc/sys/kernel/perf_" },
	{ "sysctls-garbage", .kind = FAULT_GARBAGE, .path = "/proc/sys/kernel/perf_" },
	{ "sysctls-copied", .kind = FAULT_COPY, .path = "/proc/sys/kernel/perf_" },
	{ "pmus-missing", .kind = FAULT_MISSING, .path = "/sys/bus/event_source/devices" },
	{ "pmus-garbage", .kind = FAULT_GARBAGE, .path = "/sys/bus/event_source/devices/" },
	{ "pmus-copied", .kind = FAULT_COPY, .path = "/sys/bus/event_source/devices/" },
	{ "pmus-locked", .kind = FAULT_LOCK, .path = "/sys/bus/event_source/devices/" },
	{ "maps-garbage", .kind = FAULT_GARBAGE, .path = "/proc/", .end = "/maps" },
	{ "tracefs-garbage", .kind = FAULT_GARBAGE, .path = "/sys/kernel/tracing/",
	  .also = "/sys/kernel/debug/tracing/" },
	COMMAND("disable-nothing", 1),
	COMMAND("refresh-nothing", 2),
	COMMAND("reset-nothing", 3),
	COMMAND("period-nothing", 4),
	COMMAND("set_output-nothing", 5),
	COMMAND("set_filter-nothing", 6),
	COMMAND("id-nothing", 7),
	COMMAND("set_bpf-nothing", 8),
	COMMAND("pause_output-nothing", 9),
	COMMAND("query_bpf-nothing", 10),
	COMMAND("modify-nothing", 11),
	{ "ioctl-einval", RULES({ SYS_ioctl, PERF_IOCTL, EINVAL }) },
	{ "munmap-nothing", RULES({ SYS_munmap, ANY, 0 }) },
	{ "remap-nothing", RULES({ SYS_mremap, ANY, 0 }, { SYS_mprotect, ANY, 0 }) },
	{ "ioctl-any-nothing", RULES(LET(0), LET(1), LET(3), { SYS_ioctl, ANY, 0 }) },
	{ "memory-nothing", RULES({ SYS_process_vm_readv, ANY, 0 }) },
	{ "file-nothing", RULES({ SYS_lseek, ANY, 0 }, { SYS_pread64, ANY, 0 },
				   { SYS_ftruncate, ANY, 0 }, { SYS_fsync, ANY, 0 }) },
	{ "close-nothing", RULES({ SYS_close, ANY, 0 }) },
	{ "poll-nothing", RULES({ CALL_POLL, ANY, 0 },
				   { CALL_EPOLL, ANY, 0 },
				   { SYS_ppoll, ANY, 0 }) },
	{ "fcntl-nothing", RULES({ CALL_FCNTL, 1, ~0u, F_SETFL, 0 },
				   { CALL_FCNTL, 1, ~0u, F_SETSIG, 0 },
				   { CALL_FCNTL, 1, ~0u, F_SETOWN, 0 },
				   { CALL_FCNTL, 1, ~0u, F_SETOWN_EX, 0 }) },
	{ "setsig-nothing", RULES({ CALL_FCNTL, 1, ~0u, F_SETSIG, 0 }) },
	{ "prctl-nothing", RULES({ SYS_prctl, 0, ~0u, PR_TASK_PERF_EVENTS_DISABLE, 0 },
				   { SYS_prctl, 0, ~0u, PR_TASK_PERF_EVENTS_ENABLE, 0 },
				   { SYS_prctl, 0, ~0u, PR_SET_NAME, 0 }) },
	{ "affinity-nothing", RULES({ SYS_sched_setaffinity, ANY, 0 }) },
	{ "exec-eacces", RULES({ SYS_execve, ANY, EACCES }, { SYS_mprotect, ANY, EACCES }) },
	{ "open-einval", RULES({ SYS_perf_event_open, ANY, EINVAL }) },
	{ "open-enosys", RULES({ SYS_perf_event_open, ANY, ENOSYS }) },
	{ "open-eacces", RULES({ SYS_perf_event_open, ANY, EACCES }) },
	{ "open-enoent", RULES({ SYS_perf_event_open, ANY, ENOENT }) },
	{ "open-emfile", RULES({ SYS_perf_event_open, ANY, EMFILE }) },
};

/* disabled, exclude_kernel, exclude_hv: what the events of any probe have. */
#define PLAIN_FLAGS (1ull << 0 | 1ull << 5 | 1ull << 6)

#define INDEX(title, member, at, bytes, since) FIELD_##title,
enum { PM_ATTR_FIELDS(INDEX) FIELDS };

/*
 * Each is a fault in two ways: attr-... takes and ignores it, refuse-... does not take it. A flag
 * is one in a third way: set-... has it on for every event. Type and size come first and say how
 * the rest is to be read: no fault is about them.
 */
#define FIELD(title, member, at, bytes, since) \
	[FIELD_##title] = { .name = #title, .offset = at, .size = bytes },
#define FLAG(bit, title, beside, since) \
	{ .name = #title, .offset = ATTR_FLAGS_OFFSET, .size = 8, .flag = (bit) + 1 },
#define PAIR(low, high, title, since) FLAG(low, title##_1, low, since) \
	FLAG(high, title##_2, high, since)
#define FIRST_FIELD FIELD_config

static const struct fault fields[] = {
	PM_ATTR_FIELDS(FIELD)
	PM_ATTR_FLAGS(FLAG, PAIR)
	[FIELD_flags].plain = PLAIN_FLAGS,
	[FIELD_config].plain = PERF_COUNT_SW_PAGE_FAULTS,	/* nothing special among probes */
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

void fault_list(FILE *to)
{
	for (size_t i = 0; i < COUNT(faults); i++)
		fprintf(to, "%s\n", faults[i].name);
	for (size_t i = FIRST_FIELD; i < COUNT(fields); i++)
		fprintf(to, "attr-%s\nrefuse-%s\n", fields[i].name, fields[i].name);
	for (size_t i = FIRST_FIELD; i < COUNT(fields); i++)
		if (fields[i].flag)
			fprintf(to, "set-%s\n", fields[i].name);
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
		BPF_STMT(BPF_RET | BPF_K, rule->error == RULE_ALLOW ? SECCOMP_RET_ALLOW :
			 SECCOMP_RET_ERRNO | (uint32_t)rule->error),
	};

	memcpy(code, steps, sizeof(steps));
	return sizeof(steps) / sizeof(*steps);
}

const struct fault *fault_find(const char *name)
{
	static struct fault found;
	const enum kind kind = !strncmp(name, "attr-", 5)    ? FAULT_IGNORE :
			       !strncmp(name, "refuse-", 7) ? FAULT_REFUSE :
			       !strncmp(name, "set-", 4)    ? FAULT_SET : FAULT_NONE;

	for (size_t i = 0; i < COUNT(faults); i++)
		if (!strcmp(name, faults[i].name))
			return &faults[i];
	for (size_t i = FIRST_FIELD; i < COUNT(fields) && kind; i++) {
		if (strcmp(strchr(name, '-') + 1, fields[i].name))
			continue;
		if (kind == FAULT_SET && !fields[i].flag)
			continue;
		found = fields[i];
		found.kind = kind;
		return &found;
	}
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

	if (fault->kind && recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(&descriptor, CMSG_DATA(&control.header), sizeof(int));
	return descriptor;
}

void fault_answer(const struct fault *fault, int listener)
{
	notify_answer(fault, listener);
}

/* Stop at each call the fault is about, and ask who holds the listener. */
static int inject_notifier(const struct fault *fault, int socket)
{
	int listener = notify_listen(fault->kind);
	int error = listener < 0 ? listener : send_descriptor(socket, listener);

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
	if (fault->kind)
		return inject_notifier(fault, socket);
	for (size_t j = 0; j < 4 && fault->rules[j].call; j++)
		length += compile(&fault->rules[j], code + length);
	code[length++] = allow;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		  &(struct sock_fprog){ .len = length, .filter = code }) < 0)
		return -errno;
	return 0;
}
