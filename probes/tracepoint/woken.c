/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event on a task count the task's own wake-up? Another task is current then: an event on
 * the task and on a CPU counts it when it happens there.
 * Observed: a thread that sleeps is woken 10 times, watched with a CPU and without one. It cannot
 * have been woken more often than it left its CPU: PREEMPT_RT puts it to sleep for locks, too.
 */
#include "probe.h"
#include "tracepoint.h"

PROBE(TITLE("wake-ups counted for the task that is woken")
      SINCE("3.6")
      NEEDS("tracefs")
      POINT(counts, "an event on a task and a CPU also counts that task being woken from there"))

/* A job that is over at once: the order wakes the worker, its answer wakes this thread. */
static int wake_up(void *unused)
{
	return 0;
}

TEST(counts)
{
	struct perf_event_attr attr = must_tracepoint("sched", "sched_wakeup");
	struct perf_event_attr left = attr_software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	int any_cpu, this_cpu, leaves, cpu = move_to_nth_cpu(0);
	uint64_t any, here, most;
	struct worker worker;

	attr.exclude_kernel = 0;
	left.exclude_kernel = 0;
	left.disabled = 0;
	must_start_worker(&worker, WORKER_THREAD);
	ASSERT_LE(0, worker_move(&worker, 0));
	any_cpu = must_open(&attr, worker.tid, -1, -1, 0);
	this_cpu = must_open(&attr, worker.tid, cpu, -1, 0);
	leaves = must_open(&left, worker.tid, -1, -1, 0);
	must_ioctl(any_cpu, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(this_cpu, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, worker_do(&worker, wake_up, NULL));
	any = must_count(any_cpu);
	here = must_count(this_cpu);
	/* Some orders find the worker still awake. What it does itself is in both. */
	if (here == any && any < 10)
		say_no("own wake-ups of others=%" PRIu64 ", and none of the 10 by others", any);
	most = must_count(leaves) + 10;	/* and once an order it may be woken before it has left */
	if (here < any || here - any > most)
		say_broken("on this CPU=%" PRIu64 " on any CPU=%" PRIu64 " want up to %" PRIu64
			   " less", here, any, most);
}

PROBE_MAIN
