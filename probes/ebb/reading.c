/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: what do read(2), ENABLE, DISABLE and close(2) do with an event for event-based branches
 * (EBB)? Its overflows go to user mode, so the kernel cannot count it, and a value that it gives
 * means nothing; whether it gives one tells whether the event is on its counter.
 * Observed: values are read beside the counter itself; branches are counted before and after.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"

PROBE(TITLE("reading and stopping events of event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(before_enable, "an EBB event that was never enabled can be read")
      POINT(group, "the leader of an EBB group gives a value for each member")
      POINT(disable_stops, "after DISABLE no branch is taken")
      POINT(enable_again, "after DISABLE and ENABLE branches are taken once the counter is set "
			  "anew")
      POINT(close_stops, "after the last EBB event is closed no branch is taken")
      POINT(close_of_one, "after one of two EBB events is closed the other takes branches")
      FACT(value, int, "cycles", "what read(2) gives of an event that has counted for 20 ms")
      FACT(counter, int, "cycles", "what its counter holds then, 0 at the start"))

TEST(before_enable)
{
	uint64_t value;
	ssize_t got = read(must_lead(), &value, 8);

	if (got != 8)
		say_broken("read(2) gives %zd", got);
}

/* A member on the second counter. */
static int must_join(int leader)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, CYCLES_2 | EBB);

	attr.disabled = 0;
	return must_open(&attr, 0, -1, leader, 0);
}

TEST(group)
{
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	struct pm_counts counts;
	uint64_t value = 0;
	int leader;

	require_ebb();
	attr.read_format = PERF_FORMAT_GROUP;
	leader = must_open(&attr, 0, -1, -1, 0);
	must_join(leader);
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	counts = must_counts(leader, attr.read_format);
	if (counts.nr != 2)
		say_broken("read(2) gives %" PRIu64 " values of 2", counts.nr);
	close(leader);

	leader = must_schedule();
	spr_write(SPR_PMC1, 0);
	spr_write(SPR_MMCR0, MMCR0_PMAE);
	spin_ns(20000000);
	ASSERT_EQ(8, read(leader, &value, 8));
	fact_int("counter", (long long)spr_read(SPR_PMC1));
	disarm();
	fact_int("value", (long long)value);
}

static void must_take_three(void)
{
	unsigned long taken;

	arm(PERIOD);
	taken = take_branches(3);
	expect_branches(taken, 3);
}

static void expect_no_more(void)
{
	const unsigned long before = branches_taken();

	spin_ns(20000000);
	if (branches_taken() != before)
		say_broken("branches=%lu, then %lu", before, branches_taken());
}

TEST(disable_stops)
{
	int fd = must_schedule();

	must_take_three();
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_no_more();
}

TEST(enable_again)
{
	int fd = must_schedule();
	unsigned long taken;
	uint64_t value;

	must_take_three();
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (read(fd, &value, 8) != 8)
		say_broken("read(2) gives no value after DISABLE and ENABLE");
	arm(PERIOD);
	taken = take_branches(10);
	disarm();
	expect_branches(taken, 10);
}

TEST(close_stops)
{
	int fd = must_schedule();

	must_take_three();
	must_close(fd);
	expect_no_more();
}

TEST(close_of_one)
{
	unsigned long taken;
	int leader, sibling;

	leader = must_schedule();
	sibling = must_join(leader);
	must_take_three();
	must_close(sibling);
	taken = take_branches(branches_taken() + 10);
	disarm();
	expect_branches(taken, 13);
}

PROBE_MAIN
