/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do cpu-clock and task-clock read? Not the time: nanoseconds for which the watched task was
 * on a CPU while the event was enabled, from 0 on.
 * Observed: values bracketed by the monotonic clock and the thread's own CPU time.
 */
#include "probe.h"

PROBE(TITLE("clock events")
      SINCE("2.6.31")
      POINT(cpu, "cpu-clock reads 0 before it is enabled, then the time this thread was on a CPU")
      POINT(task, "task-clock reads 0 before it is enabled, then the time this thread was on a CPU")
      POINT(cpu_stops, "cpu-clock stands still while it is disabled")
      POINT(task_stops, "task-clock stands still while it is disabled")
      FACT(cpu_excluded, bool, "-", "cpu-clock counts although user and kernel are excluded")
      FACT(task_excluded, bool, "-", "task-clock counts although user and kernel are excluded"))

static uint64_t thread_ns(void)
{
	uint64_t now = 0;

	pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	return now;
}

/*
 * The CPU time is less than what the event saw where a hypervisor or interrupts steal from it. If
 * the scheduler clock stands still between ticks, the span grows until one tick is little in it.
 */
static void follow(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t before = must_count(fd), begin = now_ns(), first, wall, least, count;
	bool fits;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	first = thread_ns();
	do {
		spin_ns(4000000);
		least = thread_ns() - first;
		count = must_count(fd);
		wall = now_ns() - begin;
		fits = count + count / 16 >= least && count <= wall + wall / 16;
	} while (!fits && wall < 250000000);
	if (before)
		say_broken("before it is enabled: %" PRIu64 " want=0", before);
	if (!fits)
		say_broken("counted=%" PRIu64 " want>=%" PRIu64 " (CPU time) and <=%" PRIu64
			   " (wall)",
			   count, least, wall);
}

static void try_excluded(uint64_t config, const char *fact)
{
	struct perf_event_attr attr = attr_software(config);
	int fd;

	attr.exclude_user = 1;
	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return;
	spin_ns(2000000);
	fact_bool(fact, must_count(fd) != 0);
}

TEST(cpu)
{
	follow(PERF_COUNT_SW_CPU_CLOCK);
	try_excluded(PERF_COUNT_SW_CPU_CLOCK, "cpu_excluded");
}

TEST(task)
{
	follow(PERF_COUNT_SW_TASK_CLOCK);
	try_excluded(PERF_COUNT_SW_TASK_CLOCK, "task_excluded");
}

static void stop(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t count;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	wake_and_spin(NULL);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	count = must_count(fd);
	if (!count)
		say_broken("counted nothing while it was enabled");
	spin_ns(100000);
	expect_count(fd, count);
}

TEST(cpu_stops)
{
	stop(PERF_COUNT_SW_CPU_CLOCK);
}

TEST(task_stops)
{
	stop(PERF_COUNT_SW_TASK_CLOCK);
}

PROBE_MAIN
