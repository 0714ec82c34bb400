/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a tracepoint event per thread? It is: it sees hits while its task is current. Observed: exact
 * numbers of system calls of this thread, of an earlier one, and of a later one and a child with
 * inherit.
 */
#include "probe.h"
#include "tracepoint.h"
#include <sys/syscall.h>

PROBE(TITLE("whose hits a tracepoint event sees")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(own_thread, "5 calls of the attached thread are 5 counts")
      POINT(other_thread, "calls of another thread of the process are not counted")
      POINT(attached_thread, "an event attached to another thread counts that one's 7 calls alone")
      POINT(later_thread, "with inherit, 7 calls of a thread that came later are counted")
      POINT(child, "with inherit, 7 calls of a forked child are counted"))

static int call(void *times)
{
	for (int i = 0; i < (int)(intptr_t)times; i++)
		syscall(SYS_getppid);
	return 0;
}

static int open_calls(pid_t pid, int cpu, bool inherit)
{
	struct perf_event_attr attr = must_tracepoint("syscalls", "sys_enter_getppid");

	attr.exclude_kernel = attr.disabled = 0;
	attr.inherit = inherit;
	return must_open(&attr, pid, cpu, -1, 0);
}

TEST(own_thread)
{
	int fd = open_calls(0, -1, false);

	call((void *)5);
	expect_count(fd, 5);
}

/* A worker's calls beside 5 of our own, counted by an event on one of the two. */
static void both_call(bool on_worker, uint64_t wanted)
{
	struct worker worker;
	int fd;

	must_start_worker(&worker, WORKER_THREAD);
	fd = open_calls(on_worker ? worker.tid : 0, -1, false);
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
	int fd = open_calls(0, -1, true);
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
