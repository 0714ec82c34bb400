/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does PERF_EVENT_IOC_RESET zero? Interval counting with one inherited event depends on
 * whether the counts of children, dead or alive, go as well.
 * Observed: exact page-fault counts of the task, of a living and of an ended child around RESET.
 */
#include "probe.h"

PROBE(TITLE("what RESET zeroes")
      SINCE("2.6.31")
      POINT(own_value, "the event's own value is zero and counts on from there")
      POINT(disabled, "also while it is disabled")
      POINT(group_flag, "PERF_IOC_FLAG_GROUP on the leader zeroes every member")
      POINT(leader_alone, "without the flag the siblings keep their values")
      FACT(zeroes_living_child, bool, "-", "RESET of an inherit event clears a living child")
      FACT(zeroes_ended_child, bool, "-", "RESET of an inherit event clears an ended child")
      POINT(inherit, "RESET of an inherit event zeroes at least the task's own part"))

static struct perf_event_attr counting(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return attr;
}

TEST(own_value)
{
	const struct perf_event_attr attr = counting();
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t before, after;

	ASSERT_EQ(0, cause_faults(7));
	before = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ASSERT_EQ(0, cause_faults(5));
	after = must_count(fd);
	if (before < 7 || after != 5)
		broken("before=%" PRIu64 " after=%" PRIu64 " want=5", before, after);
}

TEST(disabled)
{
	const struct perf_event_attr attr = counting();
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t before, after;

	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	after = must_count(fd);
	if (before < 7 || after)
		broken("before=%" PRIu64 " after=%" PRIu64 " want=0", before, after);
}

static void reset_group(struct __test_metadata *_metadata, unsigned long flag, uint64_t *ret)
{
	const struct perf_event_attr attr = counting();
	int leader = must_open(&attr, 0, -1, -1, 0), sibling;

	sibling = must_open(&attr, 0, -1, leader, 0);
	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	if (must_count(leader) < 7 || must_count(sibling) < 7)
		cannot_tell("the group did not count");
	must_ioctl(leader, PERF_EVENT_IOC_RESET, flag);
	ret[0] = must_count(leader);
	ret[1] = must_count(sibling);
}

TEST(group_flag)
{
	uint64_t value[2];

	reset_group(_metadata, PERF_IOC_FLAG_GROUP, value);
	if (value[0] || value[1])
		broken("leader=%" PRIu64 " sibling=%" PRIu64 " want=0", value[0], value[1]);
}

TEST(leader_alone)
{
	uint64_t value[2];

	reset_group(_metadata, 0, value);
	if (value[0] || value[1] < 7)
		broken("leader=%" PRIu64 " want=0, sibling=%" PRIu64 " want>=7", value[0],
		       value[1]);
}

/* The ended thread, the living one and this task count 100, 400 and 1000 or a little more. */
TEST(inherit)
{
	struct perf_event_attr attr = counting();
	struct worker living, ended;
	uint64_t before, after;
	int fd;

	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	must_start(&living, WORKER_THREAD);
	must_start(&ended, WORKER_THREAD);
	ASSERT_EQ(0, worker_faults(&ended, 100));
	ASSERT_EQ(0, worker_stop(&ended));
	ASSERT_EQ(0, worker_faults(&living, 400));
	ASSERT_EQ(0, cause_faults(1000));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = must_count(fd);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	after = must_count(fd);
	fact_bool("zeroes_living_child", after < 400);
	fact_bool("zeroes_ended_child", after % 400 < 100);
	if (before < 1500 || after >= 1000)
		broken("before=%" PRIu64 " after=%" PRIu64, before, after);
}

PROBE_MAIN
