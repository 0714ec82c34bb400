/* SPDX-License-Identifier: MIT */
/*
 * Plain ptrace(2): every system call stops the program twice, before any filter looks at it and
 * behind. So it sees what a filter of a container answers. It is slow, and set-user-id programs of
 * an ordinary user are changed by it.
 */
#define _GNU_SOURCE
#include "shape.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handover.h"

#define EVENT_EXEC 4
#define GET_SYSCALL_INFO 0x420e		/* v5.3 */
#define LISTEN 0x4208
#define BUCKETS 1024

struct info {
	uint8_t op, padding[3];
	uint32_t arch;
	uint64_t ip, sp;
	union {
		struct { uint64_t nr, args[6]; } entry;
		struct { int64_t value; uint8_t is_error; } leave;
	};
};

/* A thread in the middle of a call whose result is wanted. */
struct pending {
	struct pending *next;
	struct call call;
	int64_t number;		/* of the call */
};

static struct pending *pending[BUCKETS];
static pid_t program;

static struct pending **find(pid_t tid)
{
	struct pending **at = &pending[(unsigned int)tid % BUCKETS];

	while (*at != NULL && (*at)->call.tid != tid)
		at = &(*at)->next;
	return at;
}

static void forget(pid_t tid)
{
	struct pending **at = find(tid), *gone = *at;

	if (gone == NULL)
		return;
	*at = gone->next;
	free(gone);
}

void trace_gone(pid_t tid)
{
	forget(tid);
	handover_gone(tid);
}

static void remember(const struct call *call, int64_t number)
{
	struct pending *made;

	forget(call->tid);
	made = malloc(sizeof(*made));
	if (made == NULL)
		return;
	made->call = *call;
	made->number = number;
	made->next = pending[(unsigned int)call->tid % BUCKETS];
	pending[(unsigned int)call->tid % BUCKETS] = made;
}

/* Returns whether the thread goes on: not where it waits for another, or is ours no more. */
static bool enter(pid_t tid, const struct info *info)
{
	struct call call = { .tid = tid };

	handover_enters(tid);
	memcpy(call.args, info->entry.args, sizeof(call.args));
	if (!call_of(info->arch, (int)info->entry.nr, &call))
		return true;
	if (watch_call(&call))
		remember(&call, (int64_t)info->entry.nr);
	return call.which != CALL_PTRACE || !handover_begin(&call, program);
}

/* A filter that ends or traps a call puts its number back to where the result is looked for. */
static bool is_trapped(const struct pending *asked, int64_t value)
{
	return asked->call.which == CALL_OPEN && value == asked->number &&
		event_id_at(process_of(asked->call.tid, false), (int)value) == 0;
}

static void leave(pid_t tid, const struct info *info)
{
	const struct pending *asked = *find(tid);
	int64_t value = info->leave.value;

	if (asked == NULL)
		return;
	if (asked->call.narrow)
		value = (int32_t)value;
	watch_result(&asked->call, is_trapped(asked, value) ? RESULT_TRAPPED : value);
	forget(tid);
}

/* Returns whether the thread goes on. */
static bool at_call(pid_t tid)
{
	struct info info = { .op = 0 };

	if (ptrace(GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) <= 0)
		remarks.untold += errno != ESRCH;	/* else it was killed */
	else if (info.op == 1)
		return enter(tid, &info);
	else if (info.op == 2) {
		leave(tid, &info);
		return !handover_stop(tid, 0);
	}
	return true;
}

void trace_result(pid_t tid)
{
	struct info info = { .op = 0 };

	if (ptrace(GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) > 0 && info.op == 2)
		leave(tid, &info);
}

void trace_stop(pid_t tid, int status)
{
	const int event = status >> 16, signal = WSTOPSIG(status);

	if (signal == TRACE_AT_CALL) {
		if (at_call(tid))
			(void)ptrace(PTRACE_SYSCALL, tid, NULL, NULL);
	} else if (handover_stop(tid, event ? 0 : signal)) {
		forget(tid);
	} else if (event == TRACE_EVENT_STOP && signal != SIGTRAP) {
		(void)ptrace(LISTEN, tid, NULL, NULL);		/* stopped as a group */
	} else {
		if (event == EVENT_EXEC)
			forget(tid);
		(void)ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)(event ? 0 : signal));
	}
}

static void pass(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code <= 0)
		(void)kill(program, number);
}

static void pass_signals(void)
{
	static const int passed[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_sigaction = pass, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t none;

	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
		struct sigaction old;

		if (sigaction(passed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(passed[i], &action, NULL);
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int trace_follow(struct start *start)
{
	int status;
	pid_t tid;

	program = start->pid;
	pass_signals();
	if (ptrace(PTRACE_SEIZE, start->pid, NULL, (void *)TRACE_OPTIONS) != 0 ||
	    ptrace(PTRACE_INTERRUPT, start->pid, NULL, NULL) != 0)
		return -errno;
	(void)write(start->line, "", 1);
	/* What it leaves behind the kernel lets go when this process ends. */
	while (!start->ended && ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR)) {
		if (tid <= 0)
			continue;
		if (WIFSTOPPED(status)) {
			trace_stop(tid, status);
			continue;
		}
		trace_gone(tid);
		if (tid != start->pid)
			continue;
		start->ended = true;
		start->status = status;
	}
	return start->ended ? 0 : -ECHILD;
}
