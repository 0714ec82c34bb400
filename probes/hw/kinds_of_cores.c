/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On a machine with different cores an event of one kind is silent on the others' CPUs, and nothing
 * says so: half of a profile is missing. Observed: counts on the CPUs of each kind, which sysfs
 * lists.
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

struct membership {
	unsigned int cpu;
	bool member;
};

static void compare(unsigned int cpu, void *context)
{
	struct membership *membership = context;

	membership->member |= cpu == membership->cpu;
}

TEST(own_cores)
{
	struct perf_event_attr attr;
	char text[MOST * 64] = "";
	int fd, cpu;

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
	core_type();
	attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	attr.disabled = 0;
	attr.config |= (uint64_t)pm_pmu_type(kinds[0].name) << PERF_PMU_TYPE_SHIFT;
	fd = must_open(&attr, 0, -1, -1, 0);
	for (unsigned int nth = 0; (cpu = move_to_nth_cpu(nth)) >= 0; nth++) {
		struct membership membership = { .cpu = cpu };
		uint64_t count = count_loop(fd);

		pm_cpulist_each(kinds[0].cpus, compare, &membership);
		if (membership.member != (count != 0))
			say_broken("%s on CPU %d (its own: %d): counted=%" PRIu64, kinds[0].name,
				   cpu, membership.member, count);
	}
}

PROBE_MAIN
