/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the value fresh that a monitor on another CPU reads? The kernel has to ask the CPU that the
 * task runs on; a stale value would be that of the last tick.
 * Observed: the clock of a task that is running must have moved between two reads from another CPU.
 */
#include "probe.h"

PROBE(TITLE("the value of a task that runs elsewhere")
      SINCE("2.6.31")
      POINT(running_elsewhere, "fresh for a task that runs on another CPU right now")
      NEEDS("cpu2"))

static volatile bool stop;
static volatile uint64_t progress;

static void *run(void *tid)
{
	if (move_to_nth_cpu(1) < 0)
		return NULL;
	__atomic_store_n((pid_t *)tid, pm_gettid(), __ATOMIC_RELEASE);
	while (!stop)
		progress++;
	return NULL;
}

/* Bounded by the clock, for the other CPU may be busy with somebody else. */
TEST(running_elsewhere)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_TASK_CLOCK);
	const uint64_t give_up = now_ns() + 3000000000u;
	uint64_t first, value, ran, seen = 0;
	int moved = 0;
	pid_t tid = 0;
	pthread_t thread;
	int fd;

	require(REQUIRE_PERF | REQUIRE_CPU2);
	ASSERT_LE(0, move_to_nth_cpu(0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, run, &tid));
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE) && now_ns() < give_up)
		sched_yield();
	ASSERT_NE(0, tid);
	attr.disabled = 0;
	fd = must_open(&attr, tid, -1, -1, 0);
	first = must_count(fd);
	/* Without a fresh value the reads between two ticks of that CPU would all be the same. */
	for (int changes = 0; changes < 20;) {
		ran = progress;
		moved += ran != seen;
		seen = ran;
		value = must_count(fd);
		if (value < first)
			say_broken("read %" PRIu64 " after %" PRIu64, value, first);
		changes += value != first;
		first = value;
		if (now_ns() > give_up && moved < 40)
			say_unknown("the other thread ran between %d reads only in 3 s", moved);
		if (now_ns() > give_up)
			say_broken("a running task's clock changed %d times in 3 s, and it ran "
				   "between %d reads", changes, moved);
	}
	stop = true;
	pthread_join(thread, NULL);
}

PROBE_MAIN
