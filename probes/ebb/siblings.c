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
      POINT(sibling_period, "EINVAL for a sampling sibling with bit 63"))

static struct perf_event_attr attr_sibling(uint64_t code)
{
	struct perf_event_attr attr = attr_ebb(code);

	attr.pinned = attr.exclusive = attr.disabled = 0;
	return attr;
}

TEST(sibling)
{
	struct perf_event_attr attr = attr_sibling(CYCLES_2);
	int leader = must_lead();

	must_open(&attr, 0, -1, leader, 0);
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

PROBE_MAIN
