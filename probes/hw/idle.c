/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does exclude_idle leave the idle task out? Whoever watches a whole CPU pays for the time in which
 * it did nothing. Observed: two counters of one CPU, with the bit and without, while this thread
 * sleeps and /proc/stat says that the CPU was idle. Hardware whose clock stops with the CPU counts
 * little then, and the bit makes no difference.
 */
#include "probe.h"
#include "core_pmu.h"
#include <stdio.h>

PROBE(TITLE("counting without the idle task")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(excluded, "with exclude_idle an idle CPU counts a quarter at most of what it does "
		      "without")
      FACT(idle_counts, int, "1/1000", "what an idle CPU counts, of what a busy one does"))

#define WINDOW_MS 200

/* The hundredths of a second that a CPU has been idle, or -1. */
static int64_t idle_time(int cpu)
{
	char line[512], name[24];
	int64_t idle = -1;
	FILE *file = fopen("/proc/stat", "re");

	snprintf(name, sizeof(name), "cpu%d ", cpu);
	while (file && idle < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line, "%*s %*d %*d %*d %" SCNd64, &idle);
	if (file)
		fclose(file);
	return idle;
}

static int open_cycles(int cpu, bool exclude_idle)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES), without;

	attr.disabled = 0;
	attr.exclude_kernel = 0;
	attr.exclude_hv = 0;
	attr.exclude_idle = exclude_idle;
	without = attr;
	without.exclude_idle = 0;
	return exclude_idle ? ask_open(&attr, &without, -1, cpu, "exclude_idle") :
			      must_open(&attr, -1, cpu, -1, 0);
}

struct window {
	uint64_t all, without;		/* counted */
	int64_t idle;			/* hundredths of a second */
};

/* Watch a CPU of which this thread makes use, or none, for as long. */
static struct window watch(int cpu, int all, int without, bool busy)
{
	struct window window = { must_count(all), must_count(without), idle_time(cpu) };

	if (busy)
		spin_ns(WINDOW_MS * 1000000ull);
	else
		poll(NULL, 0, WINDOW_MS);
	window.all = must_count(all) - window.all;
	window.without = must_count(without) - window.without;
	window.idle = idle_time(cpu) - window.idle;
	return window;
}

/* The CPU that this thread is on from now on. */
static int stay_here(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		say_unknown("sched_setaffinity to CPU %d: %s", cpu, pm_errno_name(errno));
	return cpu;
}

TEST(excluded)
{
	struct window busy, idle = { 0 };
	int cpu, all, without;

	must_have_counters();
	cpu = stay_here();
	if (idle_time(cpu) < 0)
		say_unknown("/proc/stat does not tell how long CPU %d is idle", cpu);
	all = open_cycles(cpu, false);
	without = open_cycles(cpu, true);
	busy = watch(cpu, all, without, true);
	for (int tries = 0; tries < 5 && idle.idle < WINDOW_MS / 10 / 2; tries++)
		idle = watch(cpu, all, without, false);
	if (!busy.all || !busy.without)
		say_unknown("a busy CPU counted=%" PRIu64 ", with exclude_idle %" PRIu64, busy.all,
			    busy.without);
	if (idle.idle < WINDOW_MS / 10 / 2)
		say_unknown("CPU %d was idle for %" PRId64 "0 of %d ms", cpu, idle.idle, WINDOW_MS);
	fact_int("idle_counts", (int)(idle.all * 1000 / busy.all));
	if (idle.all < busy.all / 10)
		say_absent("an idle CPU counts %" PRIu64 ", a busy one %" PRIu64
			   ": there is nothing to leave out", idle.all, busy.all);
	if (idle.without > idle.all / 4)
		say_broken("an idle CPU counted=%" PRIu64 ", with exclude_idle %" PRIu64, idle.all,
			   idle.without);
}

PROBE_MAIN
