/* SPDX-License-Identifier: MIT */
/*
 * Notifications of seccomp(2): the thread that makes a call waits until it is told to continue, and
 * the kernel carries the call out as if nobody had looked. Such an answer shows no result. So for
 * as long as the call lasts, the thread is seized by ptrace(2): it stops on its way back, its
 * result is read, and it is let go. What traces it otherwise, as gdb, keeps it: then the result is
 * not seen, and the call is asked again later.
 */
#define _GNU_SOURCE
#include "shape.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "later.h"
#include "pretend.h"
#include "rights.h"

/* Newer than the headers that this builds with. */
#define FILTER_NEW_LISTENER (1UL << 3)		/* v5.0 */
#define FILTER_WAIT_KILLABLE (1UL << 5)		/* v5.19: a signal does not end the wait */
#define GET_NOTIF_SIZES 3
#define CONTINUE 1				/* v5.5 */
#define EVENT_STOP 128				/* PTRACE_EVENT_STOP */

struct notif {
	uint64_t id;
	uint32_t pid, flags;
	struct { int nr; uint32_t arch; uint64_t ip, args[6]; } data;
};

struct answer {
	uint64_t id;
	int64_t value;
	int32_t error;
	uint32_t flags;
};

#define NOTIF_RECV _IOWR('!', 0, struct notif)
#define NOTIF_SEND _IOWR('!', 1, struct answer)
#define NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)	/* v6.6: 1, answer on the same CPU */

/* ------------------------------------------------------------------------------- the listener */

static int install(struct sock_fprog *program)
{
	const long fd = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
				FILTER_NEW_LISTENER | FILTER_WAIT_KILLABLE, program);

	return fd >= 0 ? (int)fd : -errno;
}

int notify_install(bool *ret_no_new_privs)
{
	struct sock_filter code[512];
	struct sock_fprog program = { .filter = code };
	int fd;

	program.len = (unsigned short)filter_build(RET_USER_NOTIF, code,
						   sizeof(code) / sizeof(code[0]));
	if (program.len == 0)
		return -ENOTSUP;
	fd = install(&program);
	if (fd == -EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
		*ret_no_new_privs = true;
		fd = install(&program);
	}
	return fd;
}

/* What the kernel writes fits into `struct notif`, or nothing is received. */
static bool sizes_fit(void)
{
	uint16_t sizes[3] = { 0 };

	return syscall(__NR_seccomp, GET_NOTIF_SIZES, 0, sizes) == 0 &&
		sizes[0] == sizeof(struct notif) && sizes[1] == sizeof(struct answer);
}

static int receive(int listener, struct notif *ret)
{
	memset(ret, 0, sizeof(*ret));
	return ioctl(listener, NOTIF_RECV, ret) == 0 ? 0 : -errno;
}

/* What is waited for: notifications, and signals of this process. */
static struct pollfd inputs[2] = { { .events = POLLIN }, { .events = POLLIN } };

/*
 * Each poll(2) of a listener walks through all that wait, unless it soon finds one that waits for
 * its answer and one that was not received. So where many threads wait, it is done before the
 * answer; what inputs[] says is then true, and not asked again where it is something.
 */
#define CROWD 8			/* calls in a row, each of another thread than the one before */

static struct {
	pid_t last;
	unsigned int others;
	bool polled;
} crowd;

static void look_ahead(pid_t tid)
{
	crowd.others = tid == crowd.last ? 0 : crowd.others + 1;
	crowd.last = tid;
	crowd.polled = crowd.others >= CROWD && poll(inputs, 2, 0) > 0;
}

/* False: the thread was killed, and its id may be of another by now. */
static bool go_on(int listener, uint64_t id)
{
	const struct answer answer = { .id = id, .flags = CONTINUE };

	return ioctl(listener, NOTIF_SEND, &answer) == 0;
}

/* The call is not made; for who was killed meanwhile nobody waits. */
static void hold_back(int listener, uint64_t id)
{
	const struct answer answer = { .id = id, .error = -EPERM };

	(void)ioctl(listener, NOTIF_SEND, &answer);
}

/* --------------------------------------------------------------------------------- the results */

static bool seize(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return false;
	/* Until it continues only SIGKILL ends its wait, so it stops behind the call. */
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0;
}

static void note_end(struct start *start, int status)
{
	start->ended = true;
	start->status = status;
}

/*
 * Of a thread that was seized. It stays where it is until release(): its memory still holds what
 * it asked with, and its process is there. A status that is not one of a stop: there is none.
 */
static int64_t result_of(const struct call *call, struct start *start, int *ret_status)
{
	int64_t result = RESULT_UNSEEN;

	*ret_status = 0;
	while (waitpid(call->tid, ret_status, __WALL) < 0)
		if (errno != EINTR)
			return result;
	if (WIFSTOPPED(*ret_status))
		(void)result_of_stopped(call->tid, &result);
	else if (call->tid == start->pid)
		note_end(start, *ret_status);
	return result;
}

static void release(const struct call *call, const struct start *start, int status, int64_t result)
{
	const bool at_event = status >> 16 == EVENT_STOP;

	if (!WIFSTOPPED(status))
		return;
	/* At another stop a signal goes first, and its handler would be run behind the call. */
	if (start->pretend && at_event)
		pretend_again(call, result);
	(void)ptrace(PTRACE_DETACH, call->tid, NULL,
		     (void *)(long)(at_event ? 0 : WSTOPSIG(status)));
}

/* They are numbered one by one: one that is missing was taken back, as a signal was there first. */
static void count_lost(uint64_t id)
{
	static uint64_t last;

	if (last != 0 && id > last + 1)
		remarks.interrupted += id - last - 1;
	last = id;
}

/*
 * A thread has one tracer, and for the time of some calls that is this program. So it waits here
 * until another has been made the tracer of one, and seizes none meanwhile.
 */
static bool makes_tracer(const struct call *call)
{
	return call->which == CALL_PTRACE && call->args[0] != PTRACE_TRACEME;
}

static void serve(struct start *start)
{
	struct notif notif;
	struct call call = { .tid = 0 };
	bool known, wanted, seized, valid;
	int64_t result;
	int status = 0;

	if (receive(start->listener, &notif) != 0)
		return;
	count_lost(notif.id);
	call.tid = (pid_t)notif.pid;
	memcpy(call.args, notif.data.args, sizeof(call.args));
	look_ahead(call.tid);
	known = notif.pid > 0 && call_of(notif.data.arch, notif.data.nr, &call);
	if (known && start->pretend && pretend_answer(start->listener, notif.id, &call))
		return;
	if (known)
		later_settle(&call);
	wanted = known && (watch_call(&call) || makes_tracer(&call));
	if (call.wakes) {
		refuse(start, &call);
		hold_back(start->listener, notif.id);
		return;
	}
	if (wanted && !start->pretend && later_can(&call)) {
		if (go_on(start->listener, notif.id))
			later_open(&call);
		return;
	}
	seized = wanted && seize(call.tid);
	valid = go_on(start->listener, notif.id);
	result = seized ? result_of(&call, start, &status) : RESULT_UNSEEN;
	if (wanted && valid) {
		watch_result(&call, result);
		later_note(&call, result);
	}
	release(&call, start, status, result);
}

/* ------------------------------------------------------------------------------- the caretaker */

/*
 * What is left of the program after its first process has ended, or after this one was killed,
 * would have its calls refused (ENOSYS). A child answers them from then on, until nobody is left.
 */
static void take_care(int listener, int alive)
{
	struct pollfd line = { .fd = listener, .events = POLLIN };
	struct notif notif;
	char byte;

	while (read(alive, &byte, 1) < 0 && errno == EINTR)
		;
	while (poll(&line, 1, -1) >= 0 || errno == EINTR) {
		if (line.revents & (POLLHUP | POLLERR))
			return;
		if ((line.revents & POLLIN) && receive(listener, &notif) == 0)
			(void)go_on(listener, notif.id);
	}
}

static void start_caretaker(int listener)
{
	int alive[2];
	sigset_t all;

	if (pipe(alive) != 0)
		return;
	if (fork() != 0) {
		(void)close(alive[0]);		/* the other end closes with this process */
		return;
	}
	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	(void)setsid();
	for (int fd = 0; fd < 1024; fd++)
		if (fd != listener && fd != alive[0])
			(void)close(fd);
	take_care(listener, alive[0]);
	_exit(0);
}

static bool is_over(pid_t pid, int *ret_status)
{
	return waitpid(pid, ret_status, WNOHANG) == pid;
}

int notify_follow(struct start *start)
{
	uint64_t wake_here = 1;

	inputs[0].fd = start->listener;
	inputs[1].fd = signals_open();
	if (inputs[1].fd < 0)
		return inputs[1].fd;
	(void)ioctl(start->listener, NOTIF_SET_FLAGS, wake_here);
	start->cannot_pretend = start->pretend && !pretend_can(start->listener);
	start->pretend = start->pretend && !start->cannot_pretend;
	start_caretaker(start->listener);
	while (!start->ended) {
		int status;

		if (!crowd.polled && poll(inputs, 2, -1) < 0) {
			if (errno != EINTR)
				return -errno;
			continue;
		}
		crowd.polled = false;
		if (inputs[1].revents & POLLIN) {
			signals_pass(inputs[1].fd, start);
			if (!start->ended && is_over(start->pid, &status))
				note_end(start, status);
		}
		if (inputs[0].revents & POLLIN)
			serve(start);
	}
	later_settle(NULL);
	return 0;
}

/* --------------------------------------------------------------------------- does it work here */

static void try_it(int line)
{
	bool no_new_privs = false;
	const int listener = notify_install(&no_new_privs);

	(void)rights_send(line, listener);
	(void)syscall(__NR_perf_event_open, NULL, 0, -1, -1, 0UL);
	(void)write(line, "", 1);
	_exit(0);
}

/*
 * Serves the child until it has ended. Returns whether its open was seen. The other end of the
 * line closes then; the listener hangs up then since v6.11, before that when the child is reaped.
 */
static bool is_seen(int listener, int line)
{
	struct pollfd lines[2] = {
		{ .fd = listener, .events = POLLIN }, { .fd = line, .events = POLLIN },
	};
	bool seen = false;

	while (poll(lines, 2, 10000) > 0) {
		struct notif notif;
		struct call call;
		char byte;

		if ((lines[0].revents & POLLIN) && receive(listener, &notif) == 0) {
			seen |= call_of(notif.data.arch, notif.data.nr, &call) &&
				call.which == CALL_OPEN;
			(void)go_on(listener, notif.id);
		}
		if ((lines[0].revents | lines[1].revents) & (POLLHUP | POLLERR))
			break;
		if ((lines[1].revents & POLLIN) && read(line, &byte, 1) != 1)
			break;
	}
	return seen;
}

const char *notify_obstacle(void)
{
	int line[2], listener;
	bool seen = false;
	pid_t child;

	if (!result_is_known_here())
		return "results of system calls are not read on this architecture";
	if (!sizes_fit())
		return "this kernel has no notifications of system calls, or newer ones";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0)
		return "no socket";
	child = fork();
	if (child == 0)
		try_it(line[1]);
	(void)close(line[1]);
	listener = child > 0 ? rights_receive(line[0]) : -1;
	if (listener >= 0)
		seen = is_seen(listener, line[0]);
	if (listener >= 0)
		(void)close(listener);
	(void)close(line[0]);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	if (listener < 0)
		return "a filter with a listener is refused here";
	return seen ? NULL : "a filter around it answers perf_event_open, and hides the call";
}
