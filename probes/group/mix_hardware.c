/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can software and hardware events share a group, whichever leads? Page faults beside instructions
 * need no counter, but have to be scheduled with those that do; the group as a whole moves to the
 * hardware's context when a hardware event joins.
 * Observed: leader and sibling, enabled by the leader, both count the same work; where more groups
 * than counters take turns, the sibling's times are the leader's.
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
      NEEDS("pmu")
      POINT(shares_turns, "a software sibling counts only while its hardware leader has a counter")
      NEEDS("pmu"))

#define FAULTS 7

static void count_with_hardware(bool hardware_leads)
{
	const struct perf_event_attr software = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct perf_event_attr hardware = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
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

#define GROUPS 20		/* more than any core has counters for one event */
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static struct perf_event_attr timed(struct perf_event_attr attr)
{
	attr.read_format = TIMES;
	return attr;
}

TEST(shares_turns)
{
	struct perf_event_attr hardware = timed(attr_core(PERF_COUNT_HW_INSTRUCTIONS));
	struct perf_event_attr software = timed(attr_software(PERF_COUNT_SW_TASK_CLOCK));
	int fds[GROUPS][2], sharing = 0;

	must_have_counters();
	for (int i = 0; i < GROUPS; i++)
		must_pair(&hardware, software, fds[i]);
	spin_ns(100000000);
	for (int i = 0; i < GROUPS; i++)
		must_ioctl(fds[i][0], PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < GROUPS; i++) {
		const struct pm_counts leader = must_counts(fds[i][0], TIMES);
		const struct pm_counts member = must_counts(fds[i][1], TIMES);
		const uint64_t counted = member.member[0].value;

		sharing += leader.time_running < leader.time_enabled - leader.time_enabled / 10;
		if (member.time_running != leader.time_running ||
		    counted > member.time_running + member.time_running / 10 + 100000)
			say_broken("group %d: running=%" PRIu64 ", of its task clock running=%"
				   PRIu64 " counted=%" PRIu64, i, leader.time_running,
				   member.time_running, counted);
	}
	if (!sharing)
		say_absent("%d instruction counters run at once here", GROUPS);
}

PROBE_MAIN
