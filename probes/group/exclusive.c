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
      POINT(pinned_software, "a pinned software event counts exactly, and is no end of file")
      POINT(both_software, "exclusive and pinned together count exactly, with a sibling")
      POINT(beside_others, "other software events count beside an exclusive one"))

#define FAULTS 9

static void count(struct __test_metadata *_metadata, bool exclusive, bool pinned)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader, sibling, outsider;
	uint64_t before[2], gain;

	attr.disabled = 0;
	outsider = must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = exclusive;
	attr.pinned = pinned;
	leader = must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = attr.pinned = 0;
	sibling = must_open(&attr, 0, -1, leader, 0);
	ASSERT_EQ(0, cause_faults(1));
	before[0] = must_count(sibling);
	before[1] = must_count(outsider);
	gain = gain_of_faults(leader, NULL, FAULTS);
	before[0] = must_count(sibling) - before[0];
	before[1] = must_count(outsider) - before[1];
	/* One fault more for those two: the warm-up of the measured deed. */
	if (gain != FAULTS || before[0] != FAULTS + 1 || before[1] != FAULTS + 1)
		broken("leader=%" PRIu64 " want=%d, sibling=%" PRIu64 " other=%" PRIu64 " want=%d",
		       gain, FAULTS, before[0], before[1], FAULTS + 1);
}

TEST(exclusive_software)
{
	count(_metadata, true, false);
}

TEST(pinned_software)
{
	count(_metadata, false, true);
}

TEST(both_software)
{
	count(_metadata, true, true);
}

TEST(beside_others)
{
	struct perf_event_attr attr = attr_counter(false);

	attr.exclusive = 1;
	must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = 0;
	/* Opened after it, too. */
	hold_gain(must_open(&attr, 0, -1, -1, 0), NULL, FAULTS, FAULTS);
}


PROBE_MAIN
