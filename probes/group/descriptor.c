/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which descriptors may be given as group_fd? A leader's, and nothing else.
 * Observed: a sibling's, a closed one and a pipe are refused with the documented errno, and the
 * same event joins the leader.
 */
#include "probe.h"
#include "pair.h"

PROBE(TITLE("descriptors that cannot lead a group")
      SINCE("2.6.31")
      POINT(sibling_of_sibling, "joining a sibling in place of a leader is refused with EINVAL")
      POINT(closed_descriptor, "a group_fd that is not open is refused with EBADF")
      POINT(foreign_descriptor, "a group_fd that is no event is refused with EBADF"))

TEST(sibling_of_sibling)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader = must_open(&attr, 0, -1, -1, 0);
	int sibling = must_open(&attr, 0, -1, leader, 0);

	expect_refused(pm_open(&attr, 0, -1, sibling, 0), EINVAL, BROKEN, "sibling of a sibling");
	expect_join(attr, leader);
}

TEST(closed_descriptor)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader = must_open(&attr, 0, -1, -1, 0);
	int number = must_open(&attr, 0, -1, leader, 0);

	close(number);
	expect_refused(pm_open(&attr, 0, -1, number, 0), EBADF, BROKEN, "closed group_fd");
	expect_join(attr, leader);
}

TEST(foreign_descriptor)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader = must_open(&attr, 0, -1, -1, 0);
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	expect_refused(pm_open(&attr, 0, -1, ends[0], 0), EBADF, BROKEN, "a pipe as group_fd");
	expect_join(attr, leader);
}

PROBE_MAIN
