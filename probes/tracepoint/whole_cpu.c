/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a tracepoint event see all tasks of a CPU, and none of the others? Observed: system calls of
 * a child that is pinned to the watched CPU, or to another. Others may call, too, but hardly do.
 */
#include "probe.h"
#include "tracepoint.h"
#include <sys/syscall.h>

PROBE(TITLE("tracepoints of a whole CPU")
      SINCE("2.6.31")
      NEEDS("tracefs")
      ALONE("counts the calls of all that run on a CPU")
      POINT(counts, "for all tasks of a CPU, 7 calls of a child there are counted")
      POINT(elsewhere, "for all tasks of a CPU, calls on another CPU are not counted")
      NEEDS("cpu2"))

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

/* Counts on the first CPU while a child calls on the nth. Others may call, too, but hardly do. */
static uint64_t calls_seen(unsigned int nth)
{
	int fd = open_calls(-1, move_to_nth_cpu(0), false);
	struct worker worker;
	uint64_t before;

	must_start_worker(&worker, WORKER_CHILD);
	ASSERT_LE(0, worker_move(&worker, nth));
	before = must_count(fd);
	ASSERT_EQ(0, worker_do(&worker, call, (void *)700));
	return must_count(fd) - before;
}

TEST(counts)
{
	uint64_t count = calls_seen(0);

	if (count < 700 || count > 1000)
		say_broken("counted=%" PRIu64 " want=700", count);
}

TEST(elsewhere)
{
	uint64_t count;

	require(REQUIRE_CPU2);
	count = calls_seen(1);
	if (count > 300)
		say_broken("counted=%" PRIu64 " of 700 on another CPU", count);
}

PROBE_MAIN
