/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a tracepoint event count the hits of its own task alone?
 * Observed: exact numbers of system calls of this thread, of an older one, and, with inherit, of a
 * newer one and of a child. A task that may not see the kernel asks with exclude_kernel: it counts
 * system calls as well since v5.3.
 */
#include "probe.h"
#include "tracepoint.h"
#include <sys/syscall.h>

PROBE(TITLE("tasks whose hits a tracepoint event counts")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(own_thread, "an event on this thread counts 5 of its 5 calls")
      POINT(other_thread, "an event on this thread does not count calls of another thread")
      POINT(attached_thread, "an event on another thread counts that thread's 7 calls alone")
      POINT(later_thread, "with inherit an event counts 7 calls of a thread that was made later")
      POINT(child, "with inherit an event counts 7 calls of a forked child"))

static int call(void *times)
{
	for (int i = 0; i < (int)(intptr_t)times; i++)
		syscall(SYS_getppid);
	return 0;
}

/* Whether system calls count with exclude_kernel, tried on this thread. */
static bool counts_user_only(struct perf_event_attr attr)
{
	int fd;
	uint64_t count;

	attr.inherit = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	call((void *)1);
	count = must_count(fd);
	close(fd);
	return count == 1;
}

/* An event of this system call on a task, with the kernel included where that is allowed. */
static int open_calls(pid_t pid, bool inherit)
{
	struct perf_event_attr attr = must_tracepoint("syscalls", "sys_enter_getppid");
	int fd;

	attr.exclude_kernel = attr.disabled = 0;
	attr.inherit = inherit;
	fd = pm_open(&attr, pid, -1, -1, 0);
	if (fd >= 0)
		return fd;
	attr.exclude_kernel = 1;
	close(must_open(&attr, pid, -1, -1, 0));
	if (!counts_user_only(attr))
		say_blocked("with the kernel included: %s; without it this kernel counts no call",
			    pm_errno_name(fd));
	return must_open(&attr, pid, -1, -1, 0);
}

TEST(own_thread)
{
	int fd = open_calls(0, false);

	call((void *)5);
	expect_count(fd, 5);
}

/* A worker's calls beside 5 of our own, counted by an event on one of the two. */
static void both_call(bool on_worker, uint64_t wanted)
{
	struct worker worker;
	int fd;

	must_start_worker(&worker, WORKER_THREAD);
	fd = open_calls(on_worker ? worker.tid : 0, false);
	call((void *)5);
	ASSERT_EQ(0, worker_do(&worker, call, (void *)7));
	expect_count(fd, wanted);
}

TEST(other_thread)
{
	both_call(false, 5);
}

TEST(attached_thread)
{
	both_call(true, 7);
}

static void later(enum worker_kind kind)
{
	int fd = open_calls(0, true);
	struct worker worker;
	uint64_t before;

	must_start_worker(&worker, kind);	/* a child asks once who its parent is */
	before = must_count(fd);
	call((void *)5);
	ASSERT_EQ(0, worker_do(&worker, call, (void *)7));
	expect_count(fd, before + 12);
}

TEST(later_thread)
{
	later(WORKER_THREAD);
}

TEST(child)
{
	later(WORKER_CHILD);
}

PROBE_MAIN
