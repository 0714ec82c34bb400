/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_IOC_FLAG_GROUP reach the whole group, from any of its members, and only when given?
 * Observed: exact numbers of page faults of leader and sibling.
 */
#include "probe.h"

PROBE(TITLE("starting and stopping groups")
      SINCE("2.6.31")
      POINT(leader_not_siblings, "without the group flag DISABLE of a sibling leaves the leader on")
      POINT(flag_group, "with PERF_IOC_FLAG_GROUP on a sibling the whole group stops and starts")
      SINCE("3.4")
      POINT(flag_group_reset, "with the group flag RESET clears every member")
      SINCE("3.4")
      POINT(other_bits_ignored, "other bits of the argument change nothing"))

static int open_faults(int group)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = group < 0;
	return must_open(&attr, 0, -1, group, 0);
}

TEST(leader_not_siblings)
{
	int leader = open_faults(-1), sibling = open_faults(leader);

	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(sibling, NULL, 10, 10);
	must_ioctl(sibling, PERF_EVENT_IOC_DISABLE, 0);
	expect_gain(sibling, NULL, 10, 0);
	expect_gain(leader, NULL, 10, 10);
}

TEST(flag_group)
{
	int leader = open_faults(-1), sibling = open_faults(leader);

	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(leader, NULL, 10, 10);
	must_ioctl(sibling, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	expect_gain(leader, NULL, 10, 0);
	expect_gain(sibling, NULL, 10, 0);
	must_ioctl(sibling, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	expect_gain(leader, NULL, 10, 10);
	expect_gain(sibling, NULL, 10, 10);
}

TEST(flag_group_reset)
{
	int leader = open_faults(-1), sibling = open_faults(leader);

	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(leader, NULL, 10, 10);
	must_ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	if (!must_count(sibling))
		say_broken("the sibling counted nothing");
	must_ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	if (must_count(leader) || must_count(sibling))
		say_broken("after group RESET: leader=%" PRIu64 " sibling=%" PRIu64,
			   must_count(leader), must_count(sibling));
}

TEST(other_bits_ignored)
{
	int leader = open_faults(-1), sibling = open_faults(leader);
	int answer = pm_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0xff00);

	if (answer)
		say_broken("ENABLE with 0xff00: %s", pm_errno_name(answer));
	expect_gain(leader, NULL, 10, 10);
	must_ioctl(sibling, PERF_EVENT_IOC_DISABLE, 0xff00);
	expect_gain(leader, NULL, 10, 10);
}

PROBE_MAIN
