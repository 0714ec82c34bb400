/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do attr.exclusive and attr.pinned do to groups of software events? Those can always run, so
 * both must be harmless there.
 * Observed: exact page-fault counts of leader, sibling and of another event beside them.
 */
#include "probe.h"

PROBE(TITLE("exclusive and pinned groups")
      SINCE("2.6.31")
      POINT(exclusive_software, "an exclusive software event counts exactly")
      POINT(pinned_software, "a pinned software event counts exactly, and does not read as end of "
	    "file")
      POINT(both_software, "a software event that is exclusive and pinned counts exactly, and so "
	    "does its sibling")
      POINT(beside_others, "other software events count beside an exclusive one"))

#define FAULTS 9

static void count(bool exclusive, bool pinned)
{
	struct perf_event_attr attr = attr_counter(false);
	int leader, fds[2];

	fds[0] = must_open(&attr, 0, -1, -1, 0);
	attr.disabled = 1;
	attr.exclusive = exclusive;
	attr.pinned = pinned;
	leader = must_open(&attr, 0, -1, -1, 0);
	attr = attr_counter(false);
	fds[1] = must_open(&attr, 0, -1, leader, 0);
	expect_gain(leader, NULL, FAULTS, 0);
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(leader, NULL, FAULTS, FAULTS);
	for (int i = 0; i < 2; i++)
		expect_gain(fds[i], NULL, FAULTS, FAULTS);
}

TEST(exclusive_software)
{
	count(true, false);
}

TEST(pinned_software)
{
	count(false, true);
}

TEST(both_software)
{
	count(true, true);
}

TEST(beside_others)
{
	struct perf_event_attr attr = attr_counter(false);
	int later;

	attr.exclusive = 1;
	must_open(&attr, 0, -1, -1, 0);
	attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	later = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(later, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(later, NULL, FAULTS, FAULTS);
}


PROBE_MAIN
