/* SPDX-License-Identifier: MIT */
/* Branches and other tasks: forked children, threads, another process's events, rivals. */
#define _GNU_SOURCE
#include "points.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../census/verdict.h"
#include "../../pm_sys.h"
#include "work.h"

#define SOME 50
#define PERIOD 20011
#define BESCR(v) __asm__ volatile("mfspr %0, 806" : "=r"(v))
#define EBBHR(v) __asm__ volatile("mfspr %0, 804" : "=r"(v))
#define EBBRR(v) __asm__ volatile("mfspr %0, 805" : "=r"(v))

static bool registers_are_empty(void)
{
	unsigned long bescr, handler, from;

	BESCR(bescr);
	EBBHR(handler);
	EBBRR(from);
	return (bescr | handler | from) == 0;
}

static int status_of(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
		WEXITSTATUS(status) : -1;
}

static void ask_fork(void)
{
	struct work work = { .period = PERIOD };
	struct pm_diag diag = { .size = sizeof(diag) };
	int status;
	pid_t pid;

	if (work_start(&work, &diag) < 0) {
		verdict("tasks.fork_is_empty", BROKEN, "%s", diag.text);
		return;
	}
	(void)work_wait(&work, SOME);
	pid = fork();
	if (pid == 0) {
		int wrong = !registers_are_empty();

		wrong |= 2 * (pm_ebb_state(work.ebb) != PM_EBB_ELSEWHERE);
		wrong |= 4 * (pm_ebb_start(work.ebb, NULL) != -EXDEV);
		pm_ebb_destroy(work.ebb);
		wrong |= 8 * (soak_child() != 0);
		_exit(wrong);
	}
	status = status_of(pid);
	(void)work_wait(&work, work.callbacks + SOME);
	verdict("tasks.fork_is_empty", status == 0 &&
		pm_ebb_state(work.ebb) == PM_EBB_RUNNING ? YES : BROKEN, "the child: %d "
		"(1 registers, 2 state, 4 start, 8 its own branches)", status);
	work_end(&work);
}

struct other {
	struct pm_ebb *theirs;
	struct work work;
	int start, own, empty;
};

static void *other_thread(void *context)
{
	struct other *other = context;
	struct pm_diag diag = { .size = sizeof(diag) };

	other->empty = registers_are_empty();
	other->start = pm_ebb_start(other->theirs, NULL);
	other->own = work_start(&other->work, &diag);
	if (other->own == 0) {
		other->own = work_wait(&other->work, SOME) ? 0 : -ETIME;
		work_end(&other->work);
	}
	return NULL;
}

static void ask_thread(void)
{
	struct work work = { .period = PERIOD };
	struct other other = { .work = { .flags = PM_EBB_VECTORS, .period = PERIOD } };
	struct pm_diag diag = { .size = sizeof(diag) };
	pthread_t thread;

	if (work_start(&work, &diag) < 0) {
		verdict("tasks.other_thread", BROKEN, "%s", diag.text);
		return;
	}
	other.theirs = work.ebb;
	if (pthread_create(&thread, NULL, other_thread, &other) == 0)
		(void)pthread_join(thread, NULL);
	verdict("tasks.other_thread", other.start == -EXDEV && other.own == 0 && other.empty &&
		work_wait(&work, SOME) ? YES : BROKEN, "start: %s, its own: %s, registers of a new "
		"thread: %s", pm_errno_name(-other.start), other.own ? pm_errno_name(-other.own) :
		"taken", other.empty ? "empty" : "not empty");
	work_end(&work);
}

/* Willing, and told by a byte that somebody has opened the event. */
static int adopt(int from)
{
	struct work work = { .flags = PM_EBB_ADOPT, .period = PERIOD };
	struct pm_diag diag = { .size = sizeof(diag) };
	char byte;

	if (work_start(&work, &diag) < 0 || write(from, "w", 1) != 1 || read(from, &byte, 1) != 1)
		return 1;
	if (work.callbacks != 0 || pm_ebb_start(work.ebb, &diag) < 0)
		return 2;
	if (!work_wait(&work, SOME))
		return 3;
	work_end(&work);
	return 0;
}


static void ask_adopted(void)
{
	const struct pm_ebb_counter counter = { sizeof(counter), 0x1001e, PERIOD };
	struct pm_diag diag = { .size = sizeof(diag) };
	int ends[2], fd, status;
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(adopt(ends[0]));
	close(ends[0]);
	(void)!read(ends[1], &byte, 1);
	fd = pm_ebb_open_for(pid, &counter, PM_EBB_USER_ONLY, &diag);
	(void)!write(ends[1], "o", 1);
	status = status_of(pid);
	verdict("tasks.adopted", fd >= 0 && status == 0 ? YES : fd < 0 && is_gate(diag.cause) ?
		BLOCKED : BROKEN, "the willing process: %d (1 willing, 2 start, 3 branches)%s%s",
		status, fd < 0 ? "; " : "", fd < 0 ? diag.text : "");
	if (fd >= 0)
		close(fd);
	close(ends[1]);
}

static int open_pinned(int pid, int cpu)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_RAW;
	attr.config = 0x2001e;
	attr.pinned = attr.exclude_kernel = 1;
	return pm_open(&attr, pid, cpu, -1, 0);
}

static void ask_not_scheduled(void)
{
	struct work work = { .period = PERIOD };
	struct pm_diag diag = { .size = sizeof(diag) };
	int rival = open_pinned(0, -1), err = work_start(&work, &diag), later;

	if (rival < 0) {
		verdict("tasks.not_scheduled", ABSENT, "no pinned event: %s",
			pm_errno_name(-rival));
		return;
	}
	close(rival);
	later = work_start(&work, err < 0 ? NULL : &diag);
	if (later == 0 && !work_wait(&work, SOME))
		later = -ETIME;
	verdict("tasks.not_scheduled", err == -EBUSY && later == 0 ? YES : BROKEN, "beside a "
		"pinned event: %s: %s; without it: %s", pm_errno_name(-err), diag.text,
		later ? pm_errno_name(-later) : "started");
	if (later == 0)
		work_end(&work);
}

static void ask_evicted(void)
{
	struct work work = { .period = PERIOD };
	struct pm_diag diag = { .size = sizeof(diag) };
	cpu_set_t before, one;
	enum pm_ebb_state taken, back;
	int rival, again;

	(void)sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	if (work_start(&work, &diag) < 0) {
		verdict("tasks.evicted", BROKEN, "%s", diag.text);
		return;
	}
	(void)work_wait(&work, SOME);
	rival = open_pinned(-1, sched_getcpu());
	taken = pm_ebb_state(work.ebb);
	if (rival < 0) {
		verdict("tasks.evicted", BLOCKED, "no CPU-wide event: %s", pm_errno_name(-rival));
	} else {
		uint64_t seen = work.callbacks;

		for (int i = 0; i < 100; i++)	/* writes that are refused */
			again = pm_ebb_start(work.ebb, &diag);
		close(rival);
		seen = work.callbacks - seen;
		back = pm_ebb_start(work.ebb, NULL) == 0 &&
			work_wait(&work, work.callbacks + SOME) ?
			pm_ebb_state(work.ebb) : PM_EBB_STOPPED;
		verdict("tasks.evicted", taken == PM_EBB_EVICTED && again == -EBUSY && seen == 0 &&
			back == PM_EBB_RUNNING ? YES : BROKEN, "state %d, start: %s, %llu branches "
			"meanwhile, then state %d", taken, pm_errno_name(-again),
			(unsigned long long)seen, back);
	}
	work_end(&work);
	(void)sched_setaffinity(0, sizeof(before), &before);
}

void ask_tasks(void)
{
	ask_fork();
	ask_thread();
	ask_adopted();
	ask_not_scheduled();
	ask_evicted();
}
