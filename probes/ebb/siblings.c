/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: which siblings may join an event for event-based branches (EBB, config bit 63)? Either all
 * hardware events of a group have the bit or none has it.
 * Observed: each rule is broken by itself, against a leader that keeps all of them.
 */
#include "probe.h"
#include "ebb.h"

PROBE(TITLE("groups of events for event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(sibling, "an EBB leader takes a sibling with bit 63 on another counter")
      POINT(sibling_without, "EINVAL for a hardware sibling without bit 63 under an EBB leader")
      POINT(leader_without, "EINVAL for a sibling with bit 63 under a leader without it")
      POINT(sibling_pinned, "EINVAL for a pinned sibling with bit 63")
      POINT(sibling_exclusive, "EINVAL for an exclusive sibling with bit 63")
      POINT(sibling_period, "EINVAL for a sampling sibling with bit 63")
      POINT(sibling_inherit, "EINVAL for a sibling with bit 63 and inherit")
      POINT(sibling_on_exec, "EINVAL for a sibling with bit 63 and enable_on_exec")
      POINT(sibling_no_counter, "EINVAL for a sibling with bit 63 whose code names no counter")
      POINT(sibling_same_counter, "EINVAL for a sibling with bit 63 on the leader's counter")
      POINT(software_leader, "EINVAL for a sibling with bit 63 under a software leader")
      POINT(software_sibling, "an EBB leader keeps its counter beside a software sibling"))

static struct perf_event_attr attr_sibling(uint64_t code)
{
	struct perf_event_attr attr = attr_ebb(code);

	attr.pinned = attr.exclusive = attr.disabled = 0;
	return attr;
}

/* Proven by the same pair without bit 63. */
TEST(sibling)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	struct perf_event_attr plain = attr_of(PERF_TYPE_RAW, CYCLES_1);
	int leader = must_lead(), sibling = pm_open(&attr, 0, -1, leader, 0);
	uint64_t ours, theirs;

	if (sibling < 0) {
		attr.config &= ~EBB;
		must_open(&attr, 0, -1, must_open(&plain, 0, -1, -1, 0), 0);
		say_no("%s for a sibling with bit 63", pm_errno_name(sibling));
	}
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	if (read(leader, &ours, 8) != 8 || read(sibling, &theirs, 8) != 8)
		say_broken("read(2) gives no value of one of them");
}

TEST(sibling_without)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	int leader = must_lead();

	attr.config = CYCLES_2;
	refuse(&attr, leader, "a sibling without bit 63");
}

TEST(leader_without)
{
	struct perf_event_attr plain = attr_of(PERF_TYPE_RAW, CYCLES_1);
	struct perf_event_attr attr = attr_sibling(CYCLES_2);

	close(must_lead());
	refuse(&attr, must_open(&plain, 0, -1, -1, 0), "a leader without bit 63");
}

TEST(sibling_pinned)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	int leader = must_lead();

	attr.pinned = 1;
	refuse(&attr, leader, "a pinned sibling");
}

TEST(sibling_exclusive)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	int leader = must_lead();

	attr.exclusive = 1;
	refuse(&attr, leader, "an exclusive sibling");
}

TEST(sibling_period)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	int leader = must_lead();

	attr.sample_period = 100000;
	refuse(&attr, leader, "a sampling sibling");
}

TEST(sibling_inherit)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	int leader = must_lead();

	attr.inherit = 1;
	refuse(&attr, leader, "a sibling with inherit");
}

TEST(sibling_on_exec)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	int leader = must_lead();

	attr.enable_on_exec = 1;
	refuse(&attr, leader, "a sibling with enable_on_exec");
}

TEST(sibling_no_counter)
{
	struct perf_event_attr attr = attr_sibling(0x1e);

	refuse(&attr, must_lead(), "a sibling without a counter");
}

TEST(sibling_same_counter)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_1);

	refuse(&attr, must_lead(), "a sibling on the leader's counter");
}

TEST(software_leader)
{
	struct perf_event_attr plain = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct perf_event_attr attr = attr_sibling(CYCLES_2);

	close(must_lead());
	refuse(&attr, must_open(&plain, 0, -1, -1, 0), "a software leader");
}

/* Hardware events alone must agree about bit 63. */
TEST(software_sibling)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	uint64_t ours, theirs = 0;
	int leader = must_lead(), sibling;

	attr.disabled = 0;
	sibling = pm_open(&attr, 0, -1, leader, 0);
	if (sibling < 0)
		say_no("%s for a software sibling", pm_errno_name(sibling));
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(1000000);
	if (read(leader, &ours, 8) != 8 || read(sibling, &theirs, 8) != 8 || !theirs)
		say_broken("the leader is not on its counter, or the sibling counts %" PRIu64,
			   theirs);
}

PROBE_MAIN
