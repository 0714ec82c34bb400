/* SPDX-License-Identifier: MIT */
/*
 * A program that is refused its first event asks for no further ones. So the refusal is seen, the
 * call is made again, and this time it gets a descriptor of ours: a dummy event, which counts
 * nothing; or a file, where not even that opens. Requests to it succeed, members of its group are
 * pretended, too, and nothing of the machine is changed.
 */
#define _GNU_SOURCE
#include "pretend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shape.h"

#define WAITING 256		/* threads between a refusal and the same call again */
#define FILE_BYTES (1LL << 30)	/* of holes: more than any ring */
#define LINK_CREATE 28
#define REQUEST_SET_OUTPUT 5
#define REQUEST_ID 7
#define READ_FORMATS 0x1f

struct addfd {
	uint64_t id;
	uint32_t flags, srcfd, newfd, newfd_flags;
};

struct answer {
	uint64_t id;
	int64_t value;
	int32_t error;
	uint32_t flags;
};

#define NOTIF_SEND _IOWR('!', 1, struct answer)
#define NOTIF_ADDFD _IOW('!', 3, struct addfd)		/* v5.9 */

struct waiting {
	struct call call;	/* tid 0: free */
	int error;
};

static struct waiting waiting[WAITING];
static uint64_t last_id = 1000000;

const char *pretend_obstacle(void)
{
	return result_restart(0) == -ENOTSUP ? "calls are not made again on this architecture" :
		NULL;
}

bool pretend_can(int listener)
{
	const struct addfd nothing = { .srcfd = UINT32_MAX };

	return ioctl(listener, NOTIF_ADDFD, &nothing) == 0 || errno == EBADF;
}

/* ------------------------------------------------------------------------------ the first time */

static struct waiting *find(pid_t tid)
{
	for (size_t i = 0; i < WAITING; i++)
		if (waiting[i].call.tid == tid)
			return &waiting[i];
	return NULL;
}

/* What no event in its place would help: the call itself is wrong, or a limit is reached. */
static bool is_final(int error)
{
	static const int list[] = { EFAULT, EMFILE, ENFILE, EBADF, ESRCH, ENOMEM, EINTR, E2BIG };

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i] == error)
			return true;
	return false;
}

void pretend_again(const struct call *call, int64_t result)
{
	struct waiting *free_one = find(0);

	if (call->which != CALL_OPEN || result >= 0 || result < -4095 || is_final((int)-result) ||
	    free_one == NULL || result_restart(call->tid) != 0)
		return;
	free_one->call = *call;
	free_one->error = (int)-result;
}

/* ---------------------------------------------------------------------------- what it is given */

static int make_event(const struct call *call)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY, .disabled = 1, .exclude_kernel = 1,
		.exclude_hv = 1 }, asked = { .type = 0 };
	int fd;

	memcpy(&asked, call->attr, call->attr_read < sizeof(asked) ? call->attr_read :
	       sizeof(asked));
	attr.read_format = asked.read_format & READ_FORMATS;	/* so that a read has its length */
	fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	attr.read_format &= 0xf;
	if (fd < 0)
		fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = memfd_create("pretended", MFD_CLOEXEC);
	if (fd >= 0)
		(void)ftruncate(fd, FILE_BYTES);
	return fd;
}

static void answer(int listener, uint64_t id, int64_t value, int error)
{
	const struct answer given = { .id = id, .value = error ? 0 : value, .error = -error };

	(void)ioctl(listener, NOTIF_SEND, &given);
}

/* Returns its number in the program, or -1, and the call has got `error`. */
static int hand_over(int listener, uint64_t id, const struct call *call, bool cloexec, int error)
{
	struct addfd given = { .id = id, .newfd_flags = cloexec ? O_CLOEXEC : 0 };
	const int made = make_event(call);
	int fd = -1;

	if (made >= 0) {
		given.srcfd = (uint32_t)made;
		fd = ioctl(listener, NOTIF_ADDFD, &given);
		(void)close(made);
	}
	answer(listener, id, fd, fd < 0 ? error : 0);
	return fd;
}

/* ------------------------------------------------------------------------------------ the calls */

static bool is_pretended(const struct call *call, uint64_t fd)
{
	return (int)fd >= 0 && event_possible((int)fd) &&
		event_is_pretended(process_of(call->tid, false), (int)fd);
}

static bool answer_open(int listener, uint64_t id, struct call *call)
{
	const bool cloexec = call->args[4] & PERF_FLAG_FD_CLOEXEC;
	struct waiting *again = find(call->tid);
	int fd;

	if (again != NULL && memcmp(again->call.args, call->args, sizeof(call->args)) == 0) {
		fd = hand_over(listener, id, &again->call, cloexec, again->error);
		if (fd >= 0)
			watch_pretended(&again->call, fd);
		again->call.tid = 0;
		return true;
	}
	if (again != NULL)
		again->call.tid = 0;
	if (!is_pretended(call, call->args[3]))
		return false;
	(void)watch_call(call);
	watch_result(call, RESULT_UNASKED);
	fd = hand_over(listener, id, call, cloexec, EINVAL);
	if (fd >= 0)
		watch_pretended(call, fd);
	return true;
}

static bool answer_request(int listener, uint64_t id, struct call *call)
{
	const unsigned int number = call->args[1] & 0xff;
	const uint64_t name = ++last_id;
	const struct iovec here = { (void *)(uintptr_t)&name, sizeof(name) };
	const struct iovec there = { (void *)(uintptr_t)call->args[2], sizeof(name) };
	int error = 0;

	if (!is_pretended(call, call->args[0]) &&
	    !(number == REQUEST_SET_OUTPUT && is_pretended(call, call->args[2])))
		return false;
	(void)watch_call(call);
	if (number == REQUEST_ID && process_vm_writev(call->tid, &here, 1, &there, 1, 0) !=
	    sizeof(name))
		error = EFAULT;
	answer(listener, id, 0, error);
	return true;
}

/* A link of a program to a pretended event is a descriptor like it. */
static bool answer_link(int listener, uint64_t id, struct call *call)
{
	uint32_t attr[2] = { 0, 0 };

	if (call->args[0] != LINK_CREATE ||
	    memory_read(call->tid, call->args[1], attr, sizeof(attr)) != sizeof(attr) ||
	    !is_pretended(call, attr[1]))
		return false;
	(void)watch_call(call);
	(void)hand_over(listener, id, call, true, EINVAL);
	return true;
}

bool pretend_answer(int listener, uint64_t id, struct call *call)
{
	switch (call->which) {
	case CALL_OPEN: return answer_open(listener, id, call);
	case CALL_IOCTL: return answer_request(listener, id, call);
	case CALL_BPF: return answer_link(listener, id, call);
	default: return false;
	}
}
