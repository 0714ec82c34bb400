/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can software and hardware events share a group, whichever leads? Page faults beside instructions
 * need no counter, but have to be scheduled with those that do; the group as a whole moves to the
 * hardware's context when a hardware event joins.
 * Observed: leader and sibling, enabled by the leader, both count the same work.
 */
#include "probe.h"
#include "core_pmu.h"
#include "pair.h"

PROBE(TITLE("software events in hardware groups")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(hardware_leader, "a software sibling counts under a hardware leader")
      NEEDS("pmu")
      POINT(software_leader, "a hardware sibling joins a software leader, and both count")
      SINCE("3.8")
      NEEDS("pmu"))

#define FAULTS 7

static void count_with_hardware(bool hardware_leads)
{
	const struct perf_event_attr software = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct perf_event_attr hardware = attr_of(PERF_TYPE_HARDWARE,
							PERF_COUNT_HW_INSTRUCTIONS);
	int fds[2];

	must_have_counters();
	must_pair(hardware_leads ? &hardware : &software, hardware_leads ? software : hardware,
		  fds);
	expect_gain(fds[hardware_leads], NULL, FAULTS, FAULTS);
	if (!must_count(fds[!hardware_leads]))
		say_broken("instructions=0 beside %d faults", FAULTS);
}

TEST(hardware_leader)
{
	count_with_hardware(true);
}

TEST(software_leader)
{
	count_with_hardware(false);
}

PROBE_MAIN
