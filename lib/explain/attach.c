/* SPDX-License-Identifier: MIT */
/*
 * A process that runs already: all its threads are seized by ptrace(2), what they start is
 * followed, and at the end they are let go as they were: stopped ones stopped, with the signals
 * that were on their way. A thread of its own does it. Where it ends, or is killed, the kernel lets
 * go what it still holds: a thread that cannot stop, as one that waits for a disk or for vfork(2).
 */
#define _GNU_SOURCE
#include "shape.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"

#define PIDS (1 << 22)		/* PID_MAX_LIMIT */
#define PASSES 100		/* over the list of threads, which may grow meanwhile */
#define PATIENCE 5		/* seconds, for threads to stop */

static unsigned char traced[PIDS / 8];
static pid_t tracer;
static volatile sig_atomic_t leaving;

static bool is_traced(pid_t tid)
{
	return tid > 0 && tid < PIDS && (traced[tid / 8] >> tid % 8 & 1);
}

static void note(pid_t tid)
{
	if (tid > 0 && tid < PIDS)
		traced[tid / 8] |= (unsigned char)(1 << tid % 8);
}

static void note_gone(pid_t tid)
{
	trace_gone(tid);
	if (is_traced(tid))
		traced[tid / 8] &= (unsigned char)~(1 << tid % 8);
}

/* ------------------------------------------------------------------------------------- to seize */

/* Returns 1 for one more, 0 for one that is held already or has ended, or -errno. */
static int seize(pid_t tid)
{
	struct thread thread;

	if (is_traced(tid))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)TRACE_OPTIONS) == 0) {
		note(tid);
		(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		return 1;
	}
	if (errno != EPERM)
		return errno == ESRCH ? 0 : -errno;
	/* What a seized thread has started is ours before its first stop is heard of. */
	if (thread_read(tid, &thread) < 0 || thread.state == 'Z' || thread.state == 'X')
		return 0;
	return thread.tracer == tracer ? 0 : -EPERM;
}

static int seize_pass(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int found = 0, err = 0;

	if (folder == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err >= 0 && (entry = readdir(folder)) != NULL) {
		err = entry->d_name[0] == '.' ? 0 : seize((pid_t)strtol(entry->d_name, NULL, 10));
		found += err > 0;
	}
	(void)closedir(folder);
	return err < 0 ? err : found;
}

static int seize_all(pid_t pid)
{
	char path[64];
	int found = 1, sum = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	for (int pass = 0; pass < PASSES && found > 0; pass++) {
		found = seize_pass(path);
		sum += found > 0 ? found : 0;
	}
	return found < 0 ? found : sum > 0 ? 0 : -ESRCH;
}

/* ------------------------------------------------------------------------------------ to let go */

static void interrupt_all(void)
{
	for (pid_t tid = 1; tid < PIDS; tid++)
		if (is_traced(tid))
			(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
}

/* The signal that it was about to get, it gets. */
static void let_go(pid_t tid, int status)
{
	const int event = status >> 16, number = WSTOPSIG(status);

	if (number == TRACE_AT_CALL)
		trace_result(tid);
	(void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)(event != 0 ||
		     number == TRACE_AT_CALL ? 0 : number));
	note_gone(tid);
}

/* Again each second: the first may come just before waitpid(2) begins to wait. */
static void leave_soon(int number)
{
	(void)number;
	leaving++;
	(void)alarm(1);
}

static void *follow(void *context)
{
	struct start *start = context;
	bool told = false;
	int status;
	pid_t tid;

	tracer = (pid_t)syscall(__NR_gettid);
	start->status = seize_all(start->pid);
	if (start->status < 0)
		leave_soon(0);
	else if (!start->quiet)
		fprintf(stderr, "perfmodes-explain: looking at %s, until it ends or ^C comes\n",
			start->argv[0]);
	(void)pthread_sigmask(SIG_UNBLOCK, attach_signals(), NULL);
	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (leaving > PATIENCE)
			break;
		if (leaving > 0 && !told)
			interrupt_all();
		told = leaving > 0;
		if (tid <= 0)
			continue;
		if (!WIFSTOPPED(status)) {
			note_gone(tid);
			continue;
		}
		note(tid);
		if (told)
			let_go(tid, status);
		else
			trace_stop(tid, status);
	}
	return NULL;
}

int attach_follow(struct start *start)
{
	const struct sigaction action = { .sa_handler = leave_soon };
	static const int asked[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };
	pthread_t thread;
	int err;

	(void)pthread_sigmask(SIG_BLOCK, attach_signals(), NULL);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		(void)sigaction(asked[i], &action, NULL);
	remarks.open_before = attach_open_events(start->pid);
	err = pthread_create(&thread, NULL, follow, start);
	if (err != 0)
		return -err;
	(void)pthread_join(thread, NULL);
	(void)alarm(0);
	events_look(look_at_event);
	err = start->status;
	start->status = 0;
	return err;
}
