/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a hardware event run wherever its task goes? A PMU that is dead on one CPU loses what the
 * task does there, and nothing says so. Observed: an event that follows this thread from CPU to
 * CPU, by value and by both times, on each CPU of its PMU.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("hardware events on each CPU")
      SINCE("2.6.31")
      NEEDS("pmu")
      NEEDS("cpu2")
      POINT(runs, "an event that follows a thread gets time on each CPU of its PMU")
      POINT(counts, "where it gets time, a busy loop counts")
      FACT(cpus, int, "CPUs", "CPUs on which it got time"))

#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static int fd;

static struct pm_counts gain_here(void)
{
	struct pm_counts before = must_counts(fd, FORMAT), now = before;

	/* A scheduler clock may tick every 10 ms only. */
	for (int tries = 0; tries < 40 && now.time_running == before.time_running; tries++) {
		wake_and_spin(NULL);
		now = must_counts(fd, FORMAT);
	}
	now.time_enabled -= before.time_enabled;
	now.time_running -= before.time_running;
	now.member[0].value -= before.member[0].value;
	return now;
}

#define MOST 256

struct visit {
	int cpu, core;		/* core: the PMU that lists the CPU */
	struct pm_counts gain;
};

static struct visit visits[MOST];

/* Go to each CPU. Returns how many there are. */
static int visit_all(void)
{
	int count = 0, cpu;

	for (; count < MOST && (cpu = move_to_nth_cpu(count)) >= 0; count++) {
		visits[count].cpu = cpu;
		visits[count].core = core_of_cpu(cpu);
		visits[count].gain = gain_here();
	}
	return count;
}

/* Of the CPUs of the event's PMU, which is that of any CPU where it got time: how many gave it
 * time, and one that did not, or -1. */
static int judge_times(int count, int *ret_dead)
{
	const struct visit *alive = NULL;
	int running = 0;

	*ret_dead = -1;
	for (int i = 0; i < count; i++)
		if (visits[i].gain.time_running) {
			alive = &visits[i];
			running++;
		}
	for (int i = 0; alive && i < count; i++)
		if (!visits[i].gain.time_running && visits[i].core == alive->core)
			*ret_dead = visits[i].cpu;
	return running;
}

static void open_event(void)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);

	attr.disabled = 0;
	attr.read_format = FORMAT;
	require(REQUIRE_PERF | REQUIRE_CPU2 | REQUIRE_CPU_PMU);
	fd = must_open(&attr, 0, -1, -1, 0);
}

TEST(runs)
{
	int dead, running;

	open_event();
	running = judge_times(visit_all(), &dead);
	fact_int("cpus", running);
	if (!running)
		say_unknown("the event got no counter on any CPU: others may hold them all");
	if (dead >= 0)
		say_broken("got time on %d CPUs and none on CPU %d", running, dead);
}

TEST(counts)
{
	int count, running = 0;

	open_event();
	count = visit_all();
	for (int i = 0; i < count; i++) {
		running += visits[i].gain.time_running != 0;
		if (visits[i].gain.time_running && !visits[i].gain.member[0].value)
			say_broken("time on CPU %d, and counted=0 in a busy loop", visits[i].cpu);
	}
	if (!running)
		say_unknown("the event got no counter on any CPU: others may hold them all");
}

PROBE_MAIN
