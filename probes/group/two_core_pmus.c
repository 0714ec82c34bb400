/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a group span two kinds of core? A task on big and small cores is counted by two PMUs, and
 * never by both at once: such a group could not run.
 * Observed: the sibling of the other PMU is refused, that of the same PMU is not.
 */
#include "probe.h"

PROBE(TITLE("a group across two kinds of core")
      SINCE("5.13")
      NEEDS("pmu")
      POINT(two_core_pmus, "a group of events on two kinds of core is refused with EINVAL"))

struct core_pmus {
	int types[2], count;
};

/* The PMU of one kind of core among several says which CPUs it is for in a file "cpus". */
static int note_core_pmu(const char *name, void *context)
{
	struct core_pmus *found = context;
	char path[160], text[64];
	int type = pm_pmu_type(name);

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/cpus", name);
	if (type >= 0 && pm_read_text(path, text, sizeof(text)) > 0 && found->count < 2)
		found->types[found->count++] = type;
	return 0;
}

TEST(two_core_pmus)
{
	struct core_pmus found = { .count = 0 };
	struct perf_event_attr attr[2];
	int leader;

	require(REQUIRE_PERF);
	pm_pmu_each(note_core_pmu, &found);
	if (found.count < 2)
		say_absent("%d PMUs of one kind of core; needs two", found.count);
	for (int i = 0; i < 2; i++) {
		attr[i] = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
		attr[i].config |= (uint64_t)found.types[i] << PERF_PMU_TYPE_SHIFT;
		leader = must_open(&attr[i], 0, -1, -1, 0);
	}
	expect_refused(pm_open(&attr[0], 0, -1, leader, 0), EINVAL, BROKEN,
		       "a group across two PMUs");
	must_open(&attr[1], 0, -1, leader, 0);
}

PROBE_MAIN
