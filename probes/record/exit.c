/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which event gets EXIT: the parent's, or one on the task that ends? A profiler must know whether
 * an event on the parent is enough.
 * Observed: a thread and a child end, with and without inheritance, on every CPU.
 */
#include "probe.h"
#include "fork_exit.h"
#include "waiter.h"

PROBE(TITLE("ends of tasks in the ring")
      SINCE("2.6.31")
      POINT(exit_is_the_tasks_own,
	    "without inherit, an event on the parent gets no EXIT of a child")
      POINT(exit_with_inherit,
	    "with inherit on each CPU, one EXIT of a thread and of a child arrives")
      POINT(exit_watched,
	    "an event on the child gets exactly one EXIT, with its pid and its parent's")
      POINT(exit_time, "EXIT carries a time between clock readings around it (attr.use_clockid)")
      SINCE("4.1"))

TEST(exit_is_the_tasks_own)
{
	struct sampler sampler = watch_tasks();
	struct pm_record record;
	int births = 0;

	ASSERT_EQ(0, wait_child(start_child(end_child, NULL)));
	while (find_record(&sampler, 0, &record)) {
		if (record.type == PERF_RECORD_EXIT)
			say_broken("EXIT of pid %u in the ring of its parent", record.task.pid);
		births += record.type == PERF_RECORD_FORK;
	}
	if (births != 1)
		say_broken("FORK records=%d want=1", births);
}

/* Count EXITs of one task in all rings. */
static int count_exits(struct sampler *samplers, int count, pid_t thread, pid_t child,
		       int *ret_children)
{
	struct pm_record record;
	int threads = 0;

	for (int i = 0; i < count; i++)
		while (find_record(&samplers[i], PERF_RECORD_EXIT, &record)) {
			threads += record.task.tid == (uint32_t)thread;
			*ret_children += record.task.tid == (uint32_t)child;
		}
	return threads;
}

TEST(exit_with_inherit)
{
	struct perf_event_attr attr = attr_tasks();
	struct sampler samplers[64];
	int cpus = count_cpus(), children = 0, threads;
	pid_t thread = 0, child;

	if (cpus > 64)
		cpus = 64;
	attr.inherit = 1;
	for (int i = cpus - 1; i >= 0; i--) {
		int cpu = move_to_nth_cpu(i);

		ASSERT_LE(0, cpu);
		samplers[i] = must_run_sampler(&attr, 0, cpu, 1);
	}
	ASSERT_EQ(0, run_in_thread(thread_tid, &thread));
	child = start_child(end_child, NULL);
	ASSERT_EQ(0, wait_child(child));
	/* pthread_join returns while the thread is still on its way out of the kernel. */
	for (uint64_t end = now_ns() + 1000000000; now_ns() < end; sched_yield()) {
		threads = count_exits(samplers, cpus, thread, child, &children);
		if (threads)
			break;
	}
	if (threads != 1 || children != 1)
		say_broken("EXITs of thread=%d of child=%d want=1,1", threads, children);
}

static int wait_and_end(void *gate);

TEST(exit_time)
{
	struct perf_event_attr attr = attr_tasks(), without = attr;
	struct pm_record record;
	struct sampler sampler;
	uint64_t before, after;
	struct gate gate;
	pid_t child;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	ASSERT_EQ(0, gate_init(&gate));
	child = start_child(wait_and_end, &gate);
	ASSERT_LT(0, child);
	sampler = ask_run_sampler(&attr, &without, child, -1, 1, "use_clockid");
	before = now_ns();
	gate_open(&gate);
	ASSERT_EQ(0, wait_child(child));
	after = now_ns();
	if (!find_record(&sampler, PERF_RECORD_EXIT, &record))
		say_broken("no EXIT");
	if (record.task.time < before || record.task.time > after)
		say_broken("time=%" PRIu64 " not within %" PRIu64 "..%" PRIu64, record.task.time,
			   before, after);
}

static int wait_and_end(void *gate)
{
	gate_wait(gate);
	return 0;
}

TEST(exit_watched)
{
	struct perf_event_attr attr = attr_tasks();
	struct pm_record record;
	struct sampler sampler;
	struct gate gate;
	pid_t child;

	ASSERT_EQ(0, gate_init(&gate));
	child = start_child(wait_and_end, &gate);
	ASSERT_LT(0, child);
	sampler = must_run_sampler(&attr, child, -1, 1);
	gate_open(&gate);
	ASSERT_EQ(0, wait_child(child));
	if (!find_record(&sampler, PERF_RECORD_EXIT, &record))
		say_broken("no EXIT from an event on the task itself");
	if (record.task.pid != (uint32_t)child || record.task.tid != (uint32_t)child ||
	    record.task.ppid != (uint32_t)getpid() || record.task.ptid != (uint32_t)getpid())
		say_broken("pid=%u tid=%u want=%d, ppid=%u ptid=%u want=%d", record.task.pid,
			   record.task.tid, child, record.task.ppid, record.task.ptid, getpid());
	if (find_record(&sampler, PERF_RECORD_EXIT, &record))
		say_broken("a second EXIT");
}

PROBE_MAIN
