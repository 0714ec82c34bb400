/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does PERF_EVENT_IOC_RESET zero? Interval counting sets counters back, one or a group,
 * running or stopped.
 * Observed: exact page-fault counts before and after RESET.
 */
#include "probe.h"

PROBE(TITLE("what RESET zeroes")
      SINCE("2.6.31")
      POINT(own_value, "the event's own value is zero and counts on from there")
      POINT(disabled, "also while it is disabled")
      POINT(group_flag, "PERF_IOC_FLAG_GROUP on the leader zeroes every member")
      POINT(leader_alone, "without the flag the siblings keep their values"))

TEST(own_value)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t before, after;

	ASSERT_EQ(0, cause_faults(7));
	before = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ASSERT_EQ(0, cause_faults(5));
	after = must_count(fd);
	if (before < 7 || after != 5)
		say_broken("before=%" PRIu64 " after=%" PRIu64 " want=5", before, after);
}

TEST(disabled)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t before, after;

	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	after = must_count(fd);
	if (before < 7 || after)
		say_broken("before=%" PRIu64 " after=%" PRIu64 " want=0", before, after);
}

static void reset_group(unsigned long flag, uint64_t *ret)
{
	const struct perf_event_attr attr = attr_counter(false);
	int leader = must_open(&attr, 0, -1, -1, 0), sibling;

	sibling = must_open(&attr, 0, -1, leader, 0);
	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	if (must_count(leader) < 7 || must_count(sibling) < 7)
		say_unknown("the group did not count");
	must_ioctl(leader, PERF_EVENT_IOC_RESET, flag);
	ret[0] = must_count(leader);
	ret[1] = must_count(sibling);
}

TEST(group_flag)
{
	uint64_t value[2];

	reset_group(PERF_IOC_FLAG_GROUP, value);
	if (value[0] || value[1])
		say_broken("leader=%" PRIu64 " sibling=%" PRIu64 " want=0", value[0], value[1]);
}

TEST(leader_alone)
{
	uint64_t value[2];

	reset_group(0, value);
	if (value[0] || value[1] < 7)
		say_broken("leader=%" PRIu64 " want=0, sibling=%" PRIu64 " want>=7", value[0],
			   value[1]);
}

PROBE_MAIN
