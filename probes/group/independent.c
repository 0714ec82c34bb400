/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do groups of one task affect each other? Several libraries in one process watch the same thread
 * with groups of their own.
 * Observed: of three groups one counts nothing, one half of the page faults, one all of them.
 */
#include "probe.h"

PROBE(TITLE("several groups on one task")
      SINCE("2.6.31")
      POINT(independent_groups, "groups of one task start, stop and count by themselves"))

#define FAULTS 9

TEST(independent_groups)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader[3], sibling[3];

	for (int i = 0; i < 3; i++) {
		leader[i] = must_open(&attr, 0, -1, -1, 0);
		sibling[i] = must_open(&attr, 0, -1, leader[i], 0);
		must_ioctl(sibling[i], PERF_EVENT_IOC_ENABLE, 0);
	}
	ASSERT_EQ(0, cause_faults(1));
	/* Group 0 counts nothing, group 1 the second half, group 2 everything. */
	must_ioctl(leader[2], PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(FAULTS));
	must_ioctl(leader[1], PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(FAULTS));
	for (unsigned int i = 0; i < 3; i++)
		if (must_count(leader[i]) != i * FAULTS || must_count(sibling[i]) != i * FAULTS)
			say_broken("group %u: leader=%" PRIu64 " sibling=%" PRIu64 " want=%u", i,
				   must_count(leader[i]), must_count(sibling[i]), i * FAULTS);
}

PROBE_MAIN
