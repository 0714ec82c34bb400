/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do clock events stand still while their thread sleeps? They do, even when another thread of the
 * process is busy; the clock of a whole CPU goes on.
 * Observed: what is counted during a sleep, beside what the thread's own CPU time and the wall
 * clock say that it was.
 */
#include "probe.h"

PROBE(TITLE("clock events of a sleeping thread")
      SINCE("2.6.31")
      POINT(cpu, "cpu-clock of a sleeping thread stands still")
      POINT(task, "task-clock of a sleeping thread stands still")
      POINT(cpu_other_thread, "cpu-clock does not count another thread of the process")
      POINT(task_other_thread, "task-clock does not count another thread of the process")
      POINT(cpu_whole_cpu, "cpu-clock of a CPU (pid -1) follows the wall clock, busy or idle")
      POINT(task_whole_cpu, "task-clock of a CPU (pid -1) follows the wall clock, busy or idle"))

#define MS UINT64_C(1000000)

static int open_clock(uint64_t config, pid_t pid, int cpu)
{
	struct perf_event_attr attr = attr_software(config);
	int fd = must_open(&attr, pid, cpu, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* On a machine with an unstable TSC the kernel's clock may stand still within a tick. */
	for (int i = 0; i < 100 && !must_count(fd); i++)
		wake_and_spin(NULL);
	if (!must_count(fd))
		say_broken("counted nothing while awake");
	return fd;
}

/* A machine that hardly runs can hold the thread up on its way to sleep: so up to five times. */
static void sleep_30_ms(uint64_t config)
{
	int fd = open_clock(config, 0, -1);
	uint64_t wall, own = 0, own_after = 0, before, count;

	for (int tries = 0; tries < 5; tries++) {
		wall = now_ns();
		pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &own);
		before = must_count(fd);
		poll(NULL, 0, 30);
		count = must_count(fd) - before;
		pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &own_after);
		wall = now_ns() - wall;
		/* Falling asleep and waking up take CPU time. */
		if (count <= 2 * (own_after - own) + wall / 20)
			return;
	}
	say_broken("counted asleep=%" PRIu64 " of %" PRIu64 " ns, own CPU time=%" PRIu64
		   ", five times", count, wall, own_after - own);
}

/* A job that is over at once. */
static int wake_up(void *unused)
{
	return 0;
}

TEST(cpu)
{
	sleep_30_ms(PERF_COUNT_SW_CPU_CLOCK);
}

TEST(task)
{
	sleep_30_ms(PERF_COUNT_SW_TASK_CLOCK);
}

static int spin_often(void *unused)
{
	for (int i = 0; i < 5; i++)
		spin_ns(2000000);
	return 0;
}

/* Ordering, sleeping and waking take this thread CPU time, too: on a slow machine most of all; and
 * a host may take the CPU between the end of what is counted and of what is accounted. */
static void let_another_spin(uint64_t config)
{
	int fd = open_clock(config, 0, -1);
	uint64_t own = 0, own_after = 0, before, count = 0;
	struct worker worker;

	must_start_worker(&worker, WORKER_THREAD);
	ASSERT_EQ(0, worker_do(&worker, wake_up, NULL));
	for (int tries = 0; tries < 5; tries++) {
		pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &own);
		before = must_count(fd);
		ASSERT_EQ(0, worker_do(&worker, spin_often, NULL));
		count = must_count(fd) - before;
		pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &own_after);
		own = own_after - own;
		if (count <= 2 * own + 5 * MS)
			return;
	}
	say_broken("counted=%" PRIu64 ", own CPU time=%" PRIu64
		   ", 10 ms were another thread's, five times", count, own);
}

TEST(cpu_other_thread)
{
	let_another_spin(PERF_COUNT_SW_CPU_CLOCK);
}

TEST(task_other_thread)
{
	let_another_spin(PERF_COUNT_SW_TASK_CLOCK);
}

static void sleep_beside(uint64_t config)
{
	int fd = open_clock(config, -1, move_to_nth_cpu(0));
	uint64_t outer = now_ns(), before = must_count(fd), inner = now_ns(), count;

	poll(NULL, 0, 30);
	inner = now_ns() - inner;
	count = must_count(fd) - before;
	outer = now_ns() - outer;
	if (count + inner / 16 < inner || count > outer + outer / 16)
		say_broken("counted=%" PRIu64 " want %" PRIu64 " to %" PRIu64, count, inner, outer);
}

TEST(cpu_whole_cpu)
{
	sleep_beside(PERF_COUNT_SW_CPU_CLOCK);
}

TEST(task_whole_cpu)
{
	sleep_beside(PERF_COUNT_SW_TASK_CLOCK);
}

PROBE_MAIN
