/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers to system calls that a seccomp notifier has stopped. They are made outside the probe,
 * with the launcher's privileges. Where a fault depends on what the kernel would say, the kernel is
 * asked first. Calls that the fault is not about go on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../../lib/pm_abi.h"
#include "seccomp_notify.h"

/* One number everywhere, younger than some C library's headers (v5.3, v5.6, v5.8). */
#define CALL_PIDFD_OPEN 434
#define CALL_PIDFD_GETFD 438
#define CALL_FACCESSAT2 439

const uint64_t *notify_arguments(const struct notification *notification)
{
	return (const uint64_t *)notification->call.data.args;
}

/* ------------------------------------------------------------------------------ answering */

void notify_return(const struct notification *notification, int64_t value, int error)
{
	struct seccomp_notif_resp response = { .id = notification->call.id, .val = value,
					       .error = -error };

	ioctl(notification->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Let the kernel do what it would. */
void notify_continue(const struct notification *notification)
{
	struct seccomp_notif_resp response = { .id = notification->call.id,
					       .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	ioctl(notification->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Let the call return a descriptor of ours, which is closed here. */
void notify_return_fd(const struct notification *notification, int fd)
{
	struct seccomp_notif_addfd gift = { .id = notification->call.id, .srcfd = fd };
	int number = ioctl(notification->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &gift);

	notify_return(notification, number < 0 ? 0 : number, number < 0 ? errno : 0);
	close(fd);
}

/* ------------------------------------------------------------------ looking into the asker */

bool notify_peek(const struct notification *notification, uint64_t address, void *to, size_t size)
{
	struct iovec here = { .iov_base = to, .iov_len = size };
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };

	return process_vm_readv(notification->call.pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/*
 * Whether the asker still waits. If it has been killed its id may be somebody else's by now, who is
 * not to be touched.
 */
static bool still_asks(const struct notification *notification)
{
	uint64_t id = notification->call.id;

	return ioctl(notification->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0 ||
	       errno != ENOENT;
}

bool notify_poke(const struct notification *notification, uint64_t address, void *from, size_t size)
{
	struct iovec here = { .iov_base = from, .iov_len = size };
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };

	return still_asks(notification) &&
	       process_vm_writev(notification->call.pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* The process of a thread: only of those are there pidfds everywhere. */
static int process_of(int thread)
{
	char path[48], line[128];
	int process = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	file = fopen(path, "re");
	while (file && process < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "Tgid: %d", &process);
	if (file)
		fclose(file);
	return process;
}

/* The asker's descriptor as one of ours, or -1. */
static int take(const struct notification *notification, int number)
{
	int process = syscall(CALL_PIDFD_OPEN, process_of(notification->call.pid), 0);
	int fd = -1;

	if (process >= 0 && still_asks(notification))
		fd = syscall(CALL_PIDFD_GETFD, process, number, 0);
	if (process >= 0)
		close(process);
	return fd;
}

static bool is_event(const struct notification *notification, int number)
{
	char path[64], target[64] = "";

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", notification->call.pid, number);
	return readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "[perf_event]");
}

/* A descriptor among the arguments as one of ours: -1 stays, and what is none is none here. */
int notify_fd(const struct notification *notification, uint64_t argument)
{
	const int number = (int)argument;
	int fd = number < 0 ? number : take(notification, number);

	return number >= 0 && fd < 0 ? -2 : fd;
}

int notify_event(const struct notification *notification, int number)
{
	return is_event(notification, number) ? take(notification, number) : -1;
}

static void answer_map(const struct notification *notification)
{
	const uint64_t *asked = notify_arguments(notification);
	const int flags = (int)asked[3];
	const int number = (int)asked[4];
	int fd = flags & MAP_ANONYMOUS ? -1 : take(notification, number);
	void *area;

	if ((flags & MAP_ANONYMOUS) || (fd >= 0 && !is_event(notification, number))) {
		notify_continue(notification);
		return;
	}
	area = mmap(NULL, asked[1], (int)asked[2], flags & MAP_TYPE, fd,
		    (off_t)asked[5] * MMAP_UNIT);
	if (area != MAP_FAILED) {
		munmap(area, asked[1]);
		notify_continue(notification);
	} else {
		notify_return(notification, sysconf(_SC_PAGESIZE), 0);
	}
	if (fd >= 0)
		close(fd);
}

static bool by_value(uint32_t command)
{
	return command == PERF_EVENT_IOC_ENABLE || command == PERF_EVENT_IOC_DISABLE ||
	       command == PERF_EVENT_IOC_REFRESH || command == PERF_EVENT_IOC_RESET ||
	       command == PERF_EVENT_IOC_PAUSE_OUTPUT;
}

/*
 * The ioctl is made here in the probe's place, as only then it is known what the kernel says. Those
 * that point to the probe's memory go on unchanged.
 */
static void answer_order(const struct notification *notification)
{
	const uint64_t *asked = notify_arguments(notification);
	const uint32_t command = (uint32_t)asked[1];
	const bool names_fd = command == PERF_EVENT_IOC_SET_OUTPUT ||
			      command == PERF_EVENT_IOC_SET_BPF;
	int fd = -1, other = -1, result = 0;

	if ((names_fd || by_value(command)) && is_event(notification, (int)asked[0]))
		fd = take(notification, (int)asked[0]);
	if (fd < 0) {
		notify_continue(notification);
		return;
	}
	if (names_fd)
		other = notify_fd(notification, asked[2]);
	result = ioctl(fd, command, names_fd ? (uint64_t)(int64_t)other : asked[2]);
	notify_return(notification, result < 0 ? 0 : result, 0);
	close(fd);
	if (other >= 0)
		close(other);
}

/* As many bytes as the kernel would have read: zeros, or what it counts and something more. */
static void answer_read(const struct notification *notification)
{
	const uint64_t *asked = notify_arguments(notification);
	static uint64_t words[8192];
	const uint64_t more = notification->fault->kind == FAULT_READ_MORE ? 1000000 : 0;
	ssize_t length = -1;
	int fd = -1;

	if (is_event(notification, (int)asked[0]))
		fd = take(notification, (int)asked[0]);
	if (fd >= 0) {
		length = read(fd, words, asked[2] < sizeof(words) ? asked[2] : sizeof(words));
		close(fd);
	}
	if (more)
		words[0] += more;
	else
		memset(words, 0, sizeof(words));
	if (length > 0 && notify_poke(notification, asked[1], words, length))
		notify_return(notification, length, 0);
	else if (more && fd >= 0)
		notify_return(notification, sizeof(*words), 0);
	else
		notify_continue(notification);
}

/* ------------------------------------------------------------------------------------ files */

static bool takes_place(int call)
{
	return call == SYS_openat || call == SYS_faccessat || call == CALL_FACCESSAT2;
}

static bool opens(int call)
{
#ifdef SYS_open
	if (call == SYS_open)
		return true;
#endif
	return call == SYS_openat;
}

/* It may lie before the end of all memory. */
bool notify_peek_path(const struct notification *notification, char *path, size_t size)
{
	const uint64_t address =
		notify_arguments(notification)[takes_place(notification->call.data.nr)];
	const size_t to_page_end = 4096 - address % 4096;
	const size_t first = to_page_end < size - 1 ? to_page_end : size - 1;

	memset(path, 0, size);
	return notify_peek(notification, address, path, first) &&
	       (memchr(path, '\0', first) ||
		notify_peek(notification, address + first, path + first, size - 1 - first));
}

/* A file of nobody's with that text, or with that of a file. Returns a descriptor or -1. */
static int make_file(const char *path, const char *text)
{
	int from = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int to = memfd_create("copy", MFD_CLOEXEC);
	char buffer[4096];
	ssize_t length = strlen(text);

	memcpy(buffer, text, length);
	if (from >= 0) {
		length = read(from, buffer, sizeof(buffer));
		close(from);
	}
	if (to >= 0 && length > 0 && pwrite(to, buffer, length, 0) == length)
		return to;
	close(to);
	return -1;
}

static bool begins_with(const char *path, const char *start)
{
	return start && !strncmp(path, start, strlen(start));
}

static bool ends_with(const char *path, const char *end)
{
	const size_t all = strlen(path), length = end ? strlen(end) : 0;

	return length <= all && (!end || !strcmp(path + all - length, end));
}

static void answer_file(const struct notification *notification)
{
	const enum kind kind = notification->fault->kind;
	const int call = notification->call.data.nr;
	const int flags = (int)notify_arguments(notification)[1 + takes_place(call)];
	char path[160];
	int fd = -1;

	if (!notify_peek_path(notification, path, sizeof(path)) ||
	    !(begins_with(path, notification->fault->path) ||
	      begins_with(path, notification->fault->also)) ||
	    !ends_with(path, notification->fault->end)) {
		notify_continue(notification);
	} else if (kind == FAULT_MISSING) {
		notify_return(notification, 0, ENOENT);
	} else if (kind == FAULT_LOCK && opens(call) && (flags & O_ACCMODE) != O_RDONLY) {
		notify_return(notification, 0, EACCES);
	} else if (kind == FAULT_LOCK || (opens(call) && (flags & O_DIRECTORY))) {
		notify_continue(notification);
	} else if (!opens(call)) {
		notify_return(notification, 0, 0);
	} else {
		fd = make_file(kind == FAULT_COPY ? path : NULL, "garbage\n");
		if (fd < 0)
			notify_continue(notification);
		else
			notify_return_fd(notification, fd);
	}
}

/* -------------------------------------------------------------------------------- listening */

void notify_answer(const struct fault *fault, int listener)
{
	struct notification notification = { .fault = fault, .listener = listener };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification.call) < 0)
		return;
	switch (fault->kind) {
	case FAULT_MAP: answer_map(&notification); break;
	case FAULT_ORDER: answer_order(&notification); break;
	case FAULT_READ:
	case FAULT_READ_MORE: answer_read(&notification); break;
	case FAULT_MISSING:
	case FAULT_GARBAGE:
	case FAULT_COPY:
	case FAULT_LOCK: answer_file(&notification); break;
	case FAULT_SERIES: notify_answer_series(&notification); break;
	default: notify_answer_open(&notification); break;
	}
}

static size_t add_path_calls(int *calls, size_t count)
{
#ifdef SYS_open
	calls[count++] = SYS_open;
	calls[count++] = SYS_access;
#endif
	calls[count++] = SYS_openat;
	calls[count++] = SYS_faccessat;
	calls[count++] = CALL_FACCESSAT2;
	return count;
}

static size_t calls_of(enum kind kind, int calls[8])
{
	size_t count = 0;

	switch (kind) {
	case FAULT_SERIES:
		calls[count++] = SYS_perf_event_open;
		calls[count++] = CALL_MMAP;
		calls[count++] = SYS_ioctl;
		count = add_path_calls(calls, count);
		break;
	case FAULT_MAP: calls[count++] = CALL_MMAP; break;
	case FAULT_ORDER: calls[count++] = SYS_ioctl; break;
	case FAULT_READ:
	case FAULT_READ_MORE: calls[count++] = SYS_read; break;
	case FAULT_MISSING:
	case FAULT_GARBAGE:
	case FAULT_COPY:
	case FAULT_LOCK:
		count = add_path_calls(calls, count);
		break;
	default: calls[count++] = SYS_perf_event_open; break;
	}
	return count;
}

int notify_listen(enum kind kind)
{
	static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_filter code[32] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	int calls[8];
	const size_t count = calls_of(kind, calls);
	size_t length = 1;
	int listener;

	for (size_t i = 0; i < count; i++) {
		const struct sock_filter steps[] = {
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		};

		memcpy(code + length, steps, sizeof(steps));
		length += 2;
	}
	code[length++] = allow;
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			   &(struct sock_fprog){ .len = length, .filter = code });
	return listener < 0 ? -errno : listener;
}
