/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PMUs that belong to no task: memory controllers, interconnects, energy counters. They name the
 * CPUs to open them on, and cannot follow a thread. Observed for the first one here: opened on such
 * a CPU, read, and refused for a task or for sampling.
 */
#include "probe.h"
#include <stdio.h>

PROBE(TITLE("PMUs outside of the cores")
      SINCE("2.6.38")
      NEEDS("pmu")
      POINT(opens, "an event opens for all tasks on the CPU that cpumask names")
      POINT(no_task, "an event on a task is refused with EINVAL or EOPNOTSUPP")
      POINT(no_sampling, "a sample period is refused")
      POINT(scope, "read from another CPU the counter does not go back")
      NEEDS("cpu2")
      FACT(pmu, string, "-", "the PMU that was tried"))

#define DEVICES "/sys/bus/event_source/devices"

static char chosen[64];
static unsigned int chosen_cpu;

static void first_cpu(unsigned int cpu, void *seen)
{
	if (!*(bool *)seen)
		chosen_cpu = cpu;
	*(bool *)seen = true;
}

static int choose(const char *name, void *wanted)
{
	char path[256], text[1024];
	bool seen = false;

	if (wanted && strcmp(name, wanted))
		return 0;
	snprintf(path, sizeof(path), DEVICES "/%.60s/cpumask", name);
	if (pm_read_text(path, text, sizeof(text)) <= 0 ||
	    pm_cpulist_each(text, first_cpu, &seen) < 1)
		return 0;
	snprintf(chosen, sizeof(chosen), "%.60s", name);
	return 1;
}

static struct perf_event_attr uncore(const char *wanted)
{
	struct perf_event_attr attr;

	require(REQUIRE_PERF);
	if (pm_pmu_each(choose, (void *)wanted) != 1)
		say_absent("no PMU %s has a cpumask here", wanted ? wanted : "at all");
	attr = attr_of(pm_pmu_type(chosen), 0);
	attr.exclude_kernel = attr.exclude_hv = 0;
	attr.disabled = 0;
	fact_str("pmu", "%s", chosen);
	for (; attr.config < 16; attr.config++) {	/* the first number that it knows */
		int fd = pm_open(&attr, -1, chosen_cpu, -1, 0);

		if (fd >= 0)
			close(fd);
		if (fd != -EINVAL && fd != -ENOENT)
			return attr;
	}
	say_absent("%s knows none of the events 0 to 15", chosen);
}

TEST(opens)
{
	struct perf_event_attr attr = uncore(NULL);

	must_count(must_open(&attr, -1, chosen_cpu, -1, 0));
}

TEST(no_task)
{
	struct perf_event_attr attr = uncore(NULL);
	int fd;

	close(must_open(&attr, -1, chosen_cpu, -1, 0));
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd != -EOPNOTSUPP)
		expect_refused(fd, EINVAL, BROKEN, "an event on a task");
}

TEST(no_sampling)
{
	struct perf_event_attr attr = uncore(NULL);
	int fd;

	close(must_open(&attr, -1, chosen_cpu, -1, 0));
	attr.sample_period = 100000;
	fd = pm_open(&attr, -1, chosen_cpu, -1, 0);
	if (fd >= 0)
		say_broken("a sample period is accepted");
}

TEST(scope)
{
	struct perf_event_attr attr = uncore(NULL);
	uint64_t last = 0;
	int fd;

	require(REQUIRE_CPU2);
	fd = must_open(&attr, -1, chosen_cpu, -1, 0);
	for (int i = 0; i < 10; i++) {
		uint64_t count;

		move_to_nth_cpu(i % 2);
		count = must_count(fd);
		if (count < last)
			say_broken("%" PRIu64 " after %" PRIu64, count, last);
		last = count;
	}
}

PROBE_MAIN
