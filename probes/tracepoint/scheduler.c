/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a tracepoint in kernel code count for a task that may not see the kernel? With
 * exclude_kernel it opens without an error and reads 0.
 * Observed: sleeps, compared with the thread's own number of switches.
 */
#include "probe.h"
#include "tracepoint.h"

PROBE(TITLE("counting the scheduler's hits")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(exact, "sched_switch counts as many switches of a thread as getrusage")
      POINT(user_only_zero, "sched_switch with exclude_kernel opens and reads 0"))

static int open_counting(const char *system, const char *event, bool user_only)
{
	struct perf_event_attr attr = must_tracepoint(system, event);

	attr.exclude_kernel = user_only;
	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

/* How many of at least 10 switches were counted, and how many there were at least and at most:
 * there may be some around each reading of the counter. */
static uint64_t count_sleeps(int fd, uint64_t real[2])
{
	uint64_t before = count_switches(), from, to, count = must_count(fd);

	from = count_switches();
	if (cause_switches(10) < 10)
		say_unknown("fewer than 10 switches of a thread that slept 1000 times");
	to = count_switches();
	count = must_count(fd) - count;
	real[0] = to - from;
	real[1] = count_switches() - before;
	return count;
}

TEST(exact)
{
	int fd = open_counting("sched", "sched_switch", false);
	uint64_t real[2], count = count_sleeps(fd, real);

	if (count < real[0] || count > real[1])
		say_broken("counted=%" PRIu64 " getrusage=%" PRIu64 "..%" PRIu64, count, real[0],
			   real[1]);
}

TEST(user_only_zero)
{
	struct perf_event_attr attr = must_tracepoint("sched", "sched_switch");
	int fd = open_counting("sched", "sched_switch", true), all;
	uint64_t real[2], count;

	attr.exclude_kernel = attr.disabled = 0;
	all = pm_open(&attr, 0, -1, -1, 0);	/* where privileges allow it */
	count = count_sleeps(fd, real);
	if (all >= 0 && must_count(all) < real[0])
		say_broken("%" PRIu64 " of %" PRIu64 " with the kernel included", must_count(all),
			   real[0]);
	if (count)
		say_no("counted %" PRIu64 " of %" PRIu64 " in user mode", count, real[0]);
}

PROBE_MAIN
