/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On a machine with different cores an event of one kind is silent on the others' CPUs, and
 * nothing says so: half of a profile is missing. Observed: counts of an event of each kind on the
 * CPUs of all, which sysfs lists.
 */
#include "probe.h"
#include "cores.h"
#include <stdio.h>

PROBE(TITLE("one PMU for each kind of core")
      SINCE("5.13")
      COMMIT("55bcf6ef314a")
      NEEDS("pmu")
      POINT(own_cores, "an event of one kind of core counts on its CPUs and not on others'")
      NEEDS("cpu2")
      FACT(kinds, int, "PMUs", "core PMUs in sysfs")
      FACT(names, string, "-", "their names"))

#define MOST 8

static struct {
	char name[64];
	char cpus[256];
} kinds[MOST];
static int kind_count;

static int remember_kind(const char *name, void *unused)
{
	char path[192];

	(void)unused;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%.60s/cpus", name);
	if (kind_count < MOST && pm_read_text(path, kinds[kind_count].cpus,
					      sizeof(kinds[0].cpus)) > 0)
		snprintf(kinds[kind_count++].name, sizeof(kinds[0].name), "%.60s", name);
	return 0;
}

struct membership {
	unsigned int cpu;
	bool member;
};

static void compare(unsigned int cpu, void *context)
{
	struct membership *membership = context;

	membership->member |= cpu == membership->cpu;
}

/* An event of this kind counts on its CPUs and on no other. Returns on how many it counted. */
static int judge_kind(int kind)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd, cpu, counted = 0;

	attr.disabled = 0;
	attr.config |= (uint64_t)pm_pmu_type(kinds[kind].name) << PERF_PMU_TYPE_SHIFT;
	fd = must_open(&attr, 0, -1, -1, 0);
	for (unsigned int nth = 0; (cpu = move_to_nth_cpu(nth)) >= 0; nth++) {
		struct membership membership = { .cpu = cpu };
		uint64_t count = count_loop(fd);

		pm_cpulist_each(kinds[kind].cpus, compare, &membership);
		if (count && !membership.member)
			say_broken("%s counted=%" PRIu64 " on CPU %d, none of its own (%s)",
				   kinds[kind].name, count, cpu, kinds[kind].cpus);
		if (!count && membership.member)
			say_unknown("%s counts nothing on its CPU %d: others may hold its counters",
				    kinds[kind].name, cpu);
		counted += count != 0;
	}
	close(fd);
	return counted;
}

TEST(own_cores)
{
	char text[MOST * 64] = "";
	int counted = 0;

	require(REQUIRE_PERF);
	pm_pmu_each(remember_kind, NULL);
	for (int i = 0; i < kind_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.60s", i ? "," : "",
			 kinds[i].name);
	fact_int("kinds", kind_count);
	if (kind_count)
		fact_str("names", "%s", text);
	if (kind_count < 2)
		say_absent("all CPUs here have the same PMU");
	for (int i = 0; i < kind_count; i++)
		counted += judge_kind(i);
	if (!counted)
		say_unknown("none of this thread's CPUs is in the list of a PMU");
}

PROBE_MAIN
