/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The liar's answers. It stands outside the probe, with the privileges the launcher has, asks the
 * kernel itself where the lie hangs on what that would say, and leaves alone what it is not about.
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

#ifdef SYS_mmap2
#define CALL_MMAP SYS_mmap2
#define MMAP_UNIT 4096
#else
#define CALL_MMAP SYS_mmap
#define MMAP_UNIT 1
#endif
/* One number everywhere, younger than some C library's headers (v5.3, v5.6, v5.8). */
#define CALL_PIDFD_OPEN 434
#define CALL_PIDFD_GETFD 438
#define CALL_FACCESSAT2 439

const uint64_t *liar_arguments(const struct question *question)
{
	return (const uint64_t *)question->call.data.args;
}

/* ------------------------------------------------------------------------------ answering */

void liar_say(const struct question *question, int64_t value, int error)
{
	struct seccomp_notif_resp response = { .id = question->call.id, .val = value,
					       .error = -error };

	ioctl(question->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Let the kernel do what it would. */
void liar_leave(const struct question *question)
{
	struct seccomp_notif_resp response = { .id = question->call.id,
					       .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	ioctl(question->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Let the call return a descriptor of ours, which is closed here. */
void liar_give(const struct question *question, int fd)
{
	struct seccomp_notif_addfd gift = { .id = question->call.id, .srcfd = fd };
	int number = ioctl(question->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &gift);

	liar_say(question, number < 0 ? 0 : number, number < 0 ? errno : 0);
	close(fd);
}

/* ------------------------------------------------------------------ looking into the asker */

bool liar_peek(const struct question *question, uint64_t address, void *to, size_t size)
{
	struct iovec here = { .iov_base = to, .iov_len = size };
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };

	return process_vm_readv(question->call.pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/*
 * Whether the asker still waits. If it has been killed its id may be somebody else's by now, who is
 * not to be touched.
 */
static bool still_asks(const struct question *question)
{
	uint64_t id = question->call.id;

	return ioctl(question->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0 ||
	       errno != ENOENT;
}

bool liar_poke(const struct question *question, uint64_t address, void *from, size_t size)
{
	struct iovec here = { .iov_base = from, .iov_len = size };
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };

	return still_asks(question) &&
	       process_vm_writev(question->call.pid, &here, 1, &there, 1, 0) == (ssize_t)size;
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
static int take(const struct question *question, int number)
{
	int process = syscall(CALL_PIDFD_OPEN, process_of(question->call.pid), 0);
	int fd = -1;

	if (process >= 0 && still_asks(question))
		fd = syscall(CALL_PIDFD_GETFD, process, number, 0);
	if (process >= 0)
		close(process);
	return fd;
}

static bool is_event(const struct question *question, int number)
{
	char path[64], target[64] = "";

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", question->call.pid, number);
	return readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "[perf_event]");
}

/* A descriptor among the arguments as one of ours: -1 stays, and what is none is none here. */
int liar_take(const struct question *question, uint64_t argument)
{
	const int number = (int)argument;
	int fd = number < 0 ? number : take(question, number);

	return number >= 0 && fd < 0 ? -2 : fd;
}

static void answer_map(const struct question *question)
{
	const uint64_t *asked = liar_arguments(question);
	const int flags = (int)asked[3];
	const int number = (int)asked[4];
	int fd = flags & MAP_ANONYMOUS ? -1 : take(question, number);
	void *area;

	if ((flags & MAP_ANONYMOUS) || (fd >= 0 && !is_event(question, number))) {
		liar_leave(question);
		return;
	}
	area = mmap(NULL, asked[1], (int)asked[2], flags & MAP_TYPE, fd,
		    (off_t)asked[5] * MMAP_UNIT);
	if (area != MAP_FAILED) {
		munmap(area, asked[1]);
		liar_leave(question);
	} else {
		liar_say(question, sysconf(_SC_PAGESIZE), 0);
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
 * The liar gives the order in the asker's place, for only so it knows what the kernel says. Orders
 * that point to memory are left alone: that is not the liar's.
 */
static void answer_order(const struct question *question)
{
	const uint64_t *asked = liar_arguments(question);
	const uint32_t command = (uint32_t)asked[1];
	const bool names_fd = command == PERF_EVENT_IOC_SET_OUTPUT ||
			      command == PERF_EVENT_IOC_SET_BPF;
	int fd = -1, other = -1, result = 0;

	if ((names_fd || by_value(command)) && is_event(question, (int)asked[0]))
		fd = take(question, (int)asked[0]);
	if (fd < 0) {
		liar_leave(question);
		return;
	}
	if (names_fd)
		other = liar_take(question, asked[2]);
	result = ioctl(fd, command, names_fd ? (uint64_t)(int64_t)other : asked[2]);
	liar_say(question, result < 0 ? 0 : result, 0);
	close(fd);
	if (other >= 0)
		close(other);
}

/* As many bytes as the kernel would have read: zeros, or what it counts and something more. */
static void answer_read(const struct question *question)
{
	const uint64_t *asked = liar_arguments(question);
	static uint64_t words[8192];
	const uint64_t more = question->fault->lie == LIE_READ_MORE ? 1000000 : 0;
	ssize_t length = -1;
	int fd = -1;

	if (is_event(question, (int)asked[0]))
		fd = take(question, (int)asked[0]);
	if (fd >= 0) {
		length = read(fd, words, asked[2] < sizeof(words) ? asked[2] : sizeof(words));
		close(fd);
	}
	if (more)
		words[0] += more;
	else
		memset(words, 0, sizeof(words));
	if (length > 0 && liar_poke(question, asked[1], words, length))
		liar_say(question, length, 0);
	else if (more && fd >= 0)
		liar_say(question, sizeof(*words), 0);
	else
		liar_leave(question);
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

/* The path that is asked for, as far as it fits; it may lie before the end of all memory. */
static bool peek_path(const struct question *question, char *path, size_t size)
{
	const uint64_t address = liar_arguments(question)[takes_place(question->call.data.nr)];
	const size_t to_page_end = 4096 - address % 4096;
	const size_t first = to_page_end < size - 1 ? to_page_end : size - 1;

	memset(path, 0, size);
	return liar_peek(question, address, path, first) &&
	       (memchr(path, '\0', first) ||
		liar_peek(question, address + first, path + first, size - 1 - first));
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

static void answer_file(const struct question *question)
{
	const enum lie lie = question->fault->lie;
	const int call = question->call.data.nr;
	const int flags = (int)liar_arguments(question)[1 + takes_place(call)];
	char path[160];
	int fd = -1;

	if (!peek_path(question, path, sizeof(path)) ||
	    strncmp(path, question->fault->path, strlen(question->fault->path))) {
		liar_leave(question);
	} else if (lie == LIE_MISSING) {
		liar_say(question, 0, ENOENT);
	} else if (lie == LIE_LOCK && opens(call) && (flags & O_ACCMODE) != O_RDONLY) {
		liar_say(question, 0, EACCES);
	} else if (lie == LIE_LOCK || (opens(call) && (flags & O_DIRECTORY))) {
		liar_leave(question);
	} else if (!opens(call)) {
		liar_say(question, 0, 0);
	} else {
		fd = make_file(lie == LIE_COPY ? path : NULL, "garbage\n");
		if (fd < 0)
			liar_leave(question);
		else
			liar_give(question, fd);
	}
}

/* -------------------------------------------------------------------------------- the liar */

void liar_answer(const struct fault *fault, int listener)
{
	struct question question = { .fault = fault, .listener = listener };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question.call) < 0)
		return;
	switch (fault->lie) {
	case LIE_MAP: answer_map(&question); break;
	case LIE_ORDER: answer_order(&question); break;
	case LIE_READ:
	case LIE_READ_MORE: answer_read(&question); break;
	case LIE_MISSING:
	case LIE_GARBAGE:
	case LIE_COPY:
	case LIE_LOCK: answer_file(&question); break;
	default: liar_answer_open(&question); break;
	}
}

static size_t calls_of(enum lie lie, int calls[8])
{
	size_t count = 0;

	switch (lie) {
	case LIE_MAP: calls[count++] = CALL_MMAP; break;
	case LIE_ORDER: calls[count++] = SYS_ioctl; break;
	case LIE_READ:
	case LIE_READ_MORE: calls[count++] = SYS_read; break;
	case LIE_MISSING:
	case LIE_GARBAGE:
	case LIE_COPY:
	case LIE_LOCK:
#ifdef SYS_open
		calls[count++] = SYS_open;
		calls[count++] = SYS_access;
#endif
		calls[count++] = SYS_openat;
		calls[count++] = SYS_faccessat;
		calls[count++] = CALL_FACCESSAT2;
		break;
	default: calls[count++] = SYS_perf_event_open; break;
	}
	return count;
}

int liar_listen(enum lie lie)
{
	static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_filter code[32] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	int calls[8];
	const size_t count = calls_of(lie, calls);
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
