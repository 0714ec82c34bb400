/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which kinds of events can share a group and count together? Software, breakpoint and tracepoint
 * events live in different parts of the kernel, and groups that cross them were broken for years
 * (v2.6.37 to v3.7).
 * Observed: leader and sibling of different kinds, enabled by the leader, both count the same
 * work.
 */
#include "probe.h"
#include "breakpoint.h"
#include "pair.h"
#include "tracepoint.h"

PROBE(TITLE("groups of different kinds of events")
      SINCE("2.6.33")
      POINT(software_kinds, "page faults, task clock and dummy count in one group")
      POINT(breakpoint_sibling, "a breakpoint counts as sibling of a software leader")
      NEEDS("breakpoint")
      POINT(breakpoint_leader, "a software event counts as sibling of a breakpoint")
      NEEDS("breakpoint")
      POINT(tracepoint_sibling, "a tracepoint joins a software leader, and both count")
      NEEDS("tracefs"))

#define FAULTS 7
#define HITS 5

static volatile int watched;

TEST(software_kinds)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr dummy = attr_sideband();
	int fds[2], third;

	must_pair(&attr, attr_software(PERF_COUNT_SW_TASK_CLOCK), fds);
	dummy.disabled = 0;
	third = must_open(&dummy, 0, -1, fds[0], 0);
	expect_gain(fds[0], NULL, FAULTS, FAULTS);
	for (int tries = 0; tries < 50 && !must_count(fds[1]); tries++)
		spin_ns(1000000);
	if (!must_count(fds[1]) || must_count(third))
		say_broken("clock=%" PRIu64 " want more than 0, dummy=%" PRIu64 " want=0",
			   must_count(fds[1]), must_count(third));
}

static void count_both(int faults_fd, int writes_fd)
{
	uint64_t before = must_count(writes_fd), written;

	expect_gain(faults_fd, NULL, FAULTS, FAULTS);
	for (int i = 0; i < 3; i++)
		watched = i;
	written = must_count(writes_fd) - before;
	if (written != 3)
		say_broken("writes=%" PRIu64 " want=3", written);
}

TEST(breakpoint_sibling)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fds[2];

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	must_pair(&attr, attr_access(HW_BREAKPOINT_W, &watched, sizeof(watched)), fds);
	count_both(fds[0], fds[1]);
}

TEST(breakpoint_leader)
{
	const struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, sizeof(watched));
	int fds[2];

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	must_pair(&attr, attr_software(PERF_COUNT_SW_PAGE_FAULTS), fds);
	count_both(fds[1], fds[0]);
}

TEST(tracepoint_sibling)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before, hits;
	int fds[2];

	must_pair(&attr, must_call_tracepoint("sys_enter_close"), fds);
	before = must_count(fds[1]);
	cause_closes(1000000, HITS);
	hits = must_count(fds[1]) - before;
	expect_gain(fds[0], NULL, FAULTS, FAULTS);
	if (hits != HITS)
		say_broken("hits=%" PRIu64 " want=%d", hits, HITS);
}

PROBE_MAIN
