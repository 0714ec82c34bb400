/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the times of a task's events stay in the inherited sum when the task ends while they are not
 * running? Events that share counters, or that wait for another CPU, are enabled and not running
 * most of the time. Who scales counts by enabled / running goes wrong where such time is dropped.
 * Observed: an inherited event of one CPU, and a thread that works on another one and ends.
 * Linux a3c3c66670ce ("perf/core: Fix child_total_time_enabled accounting bug at task exit")
 * (v6.15)
 */
#include "probe.h"

PROBE(TITLE("times of events that are inactive when their task ends")
      SINCE("2.6.31")
      POINT(waiting, "the enabled time of an event that waited for its CPU outlives its task")
      NEEDS("cpu2")
      POINT(disabled, "the end of a task changes no time of an event that was disabled before"))

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define LEAST_NS 10000000	/* far more than this thread itself needs for a test */
#define LONG_NS 12000000	/* beyond a tick of 10 ms */

/*
 * A clock that moves with the tick shows nothing of work between two of them, and who wakes up
 * does so just behind a tick.
 */
static int work_over_a_tick(void *unused)
{
	(void)unused;
	spin_ns(LONG_NS);
	return 0;
}

/* An event that a new thread inherits. The thread works until most of the enabled time is its own,
 * however seldom a busy machine lets it. */
static int work_in_thread(int cpu, struct worker *thread)
{
	struct perf_event_attr attr = attr_counter(true);
	struct pm_counts counts = { 0 };
	int fd;

	attr.read_format = TIMES;
	fd = must_open(&attr, 0, cpu, -1, 0);
	must_start_worker(thread, WORKER_THREAD);
	for (int round = 0; round < 200 && counts.time_enabled < LEAST_NS; round++) {
		ASSERT_EQ(0, worker_do(thread, work_over_a_tick, NULL));
		counts = must_counts(fd, TIMES);
	}
	if (counts.time_enabled < LEAST_NS)
		say_broken("enabled=%" PRIu64 " after 200 times 12 ms of work",
			   counts.time_enabled);
	return fd;
}

TEST(waiting)
{
	struct pm_counts alive, ended;
	struct worker thread;
	int fd, elsewhere;

	require(REQUIRE_CPU2);
	elsewhere = move_to_nth_cpu(1);
	ASSERT_LE(0, elsewhere);
	ASSERT_LE(0, move_to_nth_cpu(0));
	fd = work_in_thread(elsewhere, &thread);
	alive = must_counts(fd, TIMES);
	ASSERT_EQ(0, worker_stop(&thread));
	ended = must_counts(fd, TIMES);
	if (alive.time_running)
		say_broken("running=%" PRIu64 " on a CPU where no thread was", alive.time_running);
	if (ended.time_enabled < alive.time_enabled || ended.time_running)
		say_broken("enabled=%" PRIu64 " while the thread lived, %" PRIu64 " after its end",
			   alive.time_enabled, ended.time_enabled);
}

TEST(disabled)
{
	struct pm_counts alive, ended;
	struct worker thread;
	int fd = work_in_thread(-1, &thread);

	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	alive = must_counts(fd, TIMES);
	ASSERT_EQ(0, worker_do(&thread, wake_and_spin, NULL));
	ASSERT_EQ(0, worker_stop(&thread));
	ended = must_counts(fd, TIMES);
	if (ended.time_enabled != alive.time_enabled ||
	    ended.time_running != alive.time_running)
		say_broken("enabled=%" PRIu64 " running=%" PRIu64 ", after the end %" PRIu64
			   " and %" PRIu64, alive.time_enabled, alive.time_running,
			   ended.time_enabled, ended.time_running);
}

PROBE_MAIN
