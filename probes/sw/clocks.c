/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do cpu-clock and task-clock read? Not the time: nanoseconds for which the watched task was
 * on a CPU while the event was enabled, starting at 0. Some kernels of v6.16 and v6.17 drop what
 * cpu-clock has counted since the last read whenever its task is switched out.
 * Observed: values bracketed by the monotonic clock and the thread's own CPU time, once without
 * leaving the CPU and once over many sleeps with a single read at the end.
 */
#include "probe.h"

PROBE(TITLE("clock events")
      SINCE("2.6.31")
      POINT(cpu, "cpu-clock reads 0 before it is enabled, then the time this thread was on a CPU")
      POINT(task, "task-clock reads 0 before it is enabled, then the time this thread was on a CPU")
      POINT(cpu_switched, "cpu-clock, read once after 20 sleeps, has the CPU time between them")
      POINT(task_switched, "task-clock, read once after 20 sleeps, has the CPU time between them")
      POINT(cpu_stops, "cpu-clock keeps its count when disabled, and then stands still")
      POINT(task_stops, "task-clock keeps its count when disabled, and then stands still")
      FACT(cpu_excluded, bool, "-", "cpu-clock counts although user and kernel are excluded")
      FACT(task_excluded, bool, "-", "task-clock counts although user and kernel are excluded"))

static uint64_t thread_ns(void)
{
	uint64_t now = 0;

	pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	return now;
}

/* What an event counted, the thread's CPU time in that span, and the span on the wall clock. */
struct span {
	uint64_t count, least, wall, switches;
};

/*
 * The CPU time is less than what the event saw where a hypervisor or interrupts steal from it. If
 * the scheduler clock stands still between ticks, the span grows until one tick is little in it.
 */
static bool follow_once(uint64_t config, struct span *ret)
{
	struct perf_event_attr attr = attr_software(config);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t before = must_count(fd), begin = now_ns(), first;
	bool fits;

	if (before)
		say_broken("before it is enabled: %" PRIu64 " want=0", before);
	ret->switches = count_switches();
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	first = thread_ns();
	do {
		spin_ns(4000000);
		ret->least = thread_ns() - first;
		ret->count = must_count(fd);
		ret->wall = now_ns() - begin;
		fits = ret->count + ret->count / 16 >= ret->least &&
		       ret->count <= ret->wall + ret->wall / 16;
	} while (!fits && ret->wall < 250000000);
	ret->switches = count_switches() - ret->switches;
	close(fd);
	return fits;
}

/* A span in which the thread was switched away asks another question, that of keep(). */
static void follow(uint64_t config)
{
	struct span span;

	for (int tries = 0; tries < 10; tries++) {
		if (follow_once(config, &span))
			return;
		if (!span.switches || !span.count)
			say_broken("counted=%" PRIu64 " want>=%" PRIu64 " (CPU time) and <=%" PRIu64
				   " (wall)",
				   span.count, span.least, span.wall);
	}
	say_unknown("counted=%" PRIu64 " of %" PRIu64 " ns, but it was switched away each time",
		    span.count, span.least);
}

/* Twenty times asleep and busy, and no read before the end, for a read would bring up to date. */
static bool keep_once(uint64_t config, struct span *ret)
{
	struct perf_event_attr attr = attr_software(config);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t first;

	ret->switches = count_switches();
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	first = thread_ns();
	for (int i = 0; i < 20; i++)
		wake_and_spin(NULL);
	ret->least = thread_ns() - first;
	ret->count = must_count(fd);
	ret->switches = count_switches() - ret->switches;
	close(fd);
	return ret->count + ret->count / 3 >= ret->least;
}

/*
 * A kernel that drops time does so at each switch. The scheduler takes the switch itself for CPU
 * time, and the event does not, so where a hypervisor takes the CPU away within one, much is
 * missing once.
 */
static void keep(uint64_t config)
{
	struct span span;

	for (int tries = 0; tries < 5; tries++) {
		const bool kept = keep_once(config, &span);

		if (span.switches < 10 || span.least < 4000000)
			say_unknown("20 sleeps were %" PRIu64 " switches and %" PRIu64
				    " ns of CPU time",
				    span.switches, span.least);
		if (kept)
			return;
	}
	say_broken("counted=%" PRIu64 " of %" PRIu64 " ns of CPU time over %" PRIu64 " switches",
		   span.count, span.least, span.switches);
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

TEST(cpu_switched)
{
	keep(PERF_COUNT_SW_CPU_CLOCK);
}

TEST(task_switched)
{
	keep(PERF_COUNT_SW_TASK_CLOCK);
}

/* The thread has just woken up, so its clock is not held within a tick. */
static void stop(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t first, least, count;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	poll(NULL, 0, 1);
	first = thread_ns();
	spin_ns(2000000);
	least = thread_ns() - first;
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	count = must_count(fd);
	if (count < least / 2 || !count)
		say_broken("counted=%" PRIu64 " of %" PRIu64 " ns of CPU time while it was enabled",
			   count, least);
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
