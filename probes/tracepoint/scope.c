/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a tracepoint event per thread? It is: it sees hits while its task is current. Others' hits,
 * and a task's own wake-up, which happens on behalf of somebody else, need more.
 * Observed: exact numbers of system calls of this thread, an earlier one, a later one with inherit,
 * of a child on a watched CPU; and wake-ups of a thread that sleeps.
 */
#include "probe.h"
#include <sys/syscall.h>

PROBE(TITLE("whose hits a tracepoint event sees")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(own_thread, "5 calls of the attached thread are 5 counts")
      POINT(other_thread, "calls of another thread of the process are not counted")
      POINT(attached_thread, "an event attached to another thread counts that one's 7 calls alone")
      POINT(later_thread, "with inherit, 7 calls of a thread that came later are counted")
      POINT(child, "with inherit, 7 calls of a forked child are counted")
      POINT(whole_cpu, "for all tasks of a CPU, 7 calls of a child there are counted")
      POINT(whole_cpu_elsewhere, "for all tasks of a CPU, calls on another CPU are not counted")
      NEEDS("cpu2")
      POINT(woken, "an event on a task and a CPU also counts that task being woken from there")
      SINCE("3.6")
      FACT(woken_any_cpu, int, "counts", "10 wake-ups by another task, counted with cpu -1"))

static int call(void *times)
{
	for (int i = 0; i < (int)(intptr_t)times; i++)
		syscall(SYS_getppid);
	return 0;
}

static int pin(void *nth)
{
	return move_to_nth_cpu((unsigned int)(intptr_t)nth);
}

static int open_calls(struct __test_metadata *_metadata, pid_t pid, int cpu, bool inherit)
{
	struct perf_event_attr attr = must_tracepoint("syscalls", "sys_enter_getppid");

	attr.exclude_kernel = attr.disabled = 0;
	attr.inherit = inherit;
	return must_open(&attr, pid, cpu, -1, 0);
}

static void want(struct __test_metadata *_metadata, int fd, uint64_t wanted)
{
	uint64_t count = must_count(fd);

	if (count != wanted)
		broken("counted=%" PRIu64 " want=%" PRIu64, count, wanted);
}

TEST(own_thread)
{
	int fd = open_calls(_metadata, 0, -1, false);

	call((void *)5);
	want(_metadata, fd, 5);
}

/* A worker's calls beside 5 of our own, counted by an event on one of the two. */
static void both_call(struct __test_metadata *_metadata, bool on_worker, uint64_t wanted)
{
	struct worker worker;
	int fd;

	must_start(&worker, WORKER_THREAD);
	fd = open_calls(_metadata, on_worker ? worker.tid : 0, -1, false);
	call((void *)5);
	ASSERT_EQ(0, worker_do(&worker, call, (void *)7));
	want(_metadata, fd, wanted);
}

TEST(other_thread)
{
	both_call(_metadata, false, 5);
}

TEST(attached_thread)
{
	both_call(_metadata, true, 7);
}

static void later(struct __test_metadata *_metadata, enum worker_kind kind)
{
	int fd = open_calls(_metadata, 0, -1, true);
	struct worker worker;
	uint64_t before;

	must_start(&worker, kind);	/* a child asks once who its parent is */
	before = must_count(fd);
	call((void *)5);
	ASSERT_EQ(0, worker_do(&worker, call, (void *)7));
	want(_metadata, fd, before + 12);
}

TEST(later_thread)
{
	later(_metadata, WORKER_THREAD);
}

TEST(child)
{
	later(_metadata, WORKER_CHILD);
}

/* Counts on the first CPU while a child calls on the nth. Others may call, too, but hardly do. */
static uint64_t calls_seen(struct __test_metadata *_metadata, unsigned int nth)
{
	int fd = open_calls(_metadata, -1, move_to_nth_cpu(0), false);
	struct worker worker;
	uint64_t before;

	must_start(&worker, WORKER_CHILD);
	ASSERT_LE(0, worker_do(&worker, pin, (void *)(uintptr_t)nth));
	before = must_count(fd);
	ASSERT_EQ(0, worker_do(&worker, call, (void *)700));
	return must_count(fd) - before;
}

TEST(whole_cpu)
{
	uint64_t count = calls_seen(_metadata, 0);

	if (count < 700 || count > 1000)
		broken("counted=%" PRIu64 " want=700", count);
}

TEST(whole_cpu_elsewhere)
{
	uint64_t count;

	require(REQUIRE_CPU2);
	count = calls_seen(_metadata, 1);
	if (count > 300)
		broken("counted=%" PRIu64 " of 700 on another CPU", count);
}

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

/* Each order wakes the worker (our doing), and its answer wakes us (the worker's doing). */
TEST(woken)
{
	struct perf_event_attr attr = must_tracepoint("sched", "sched_wakeup");
	int any_cpu, this_cpu, cpu = move_to_nth_cpu(0);
	uint64_t any, here;
	struct worker worker;

	attr.exclude_kernel = 0;
	must_start(&worker, WORKER_THREAD);
	ASSERT_LE(0, worker_do(&worker, pin, (void *)0));
	any_cpu = must_open(&attr, worker.tid, -1, -1, 0);
	this_cpu = must_open(&attr, worker.tid, cpu, -1, 0);
	must_ioctl(any_cpu, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(this_cpu, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, worker_do(&worker, nothing, NULL));
	any = must_count(any_cpu);
	here = must_count(this_cpu);
	fact_int("woken_any_cpu", any > 10 ? any - 10 : 0);
	/* Some orders find the worker still awake. What it does itself is in both. */
	if (here == any && any < 10)
		say_no("own wake-ups of others=%" PRIu64 ", and none of the 10 by others", any);
	if (here < any || here - any > 10)
		broken("on this CPU=%" PRIu64 " on any CPU=%" PRIu64 " want up to 10 less", here,
		       any);
}

PROBE_MAIN
