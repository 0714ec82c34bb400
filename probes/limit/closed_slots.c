/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a closed event really gone at once, with what it took?
 *
 * Debug registers are so few that one that is freed late is missed by the very next open. All of
 * them are taken and given back, ten times.
 */
#include "probe.h"

PROBE(TITLE("the slots of closed events")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(free_at_once, "closing breakpoints frees their slots for the very next open")
      FACT(slots, int, "breakpoints", "breakpoints one task can have on data"))

static volatile uint64_t watched[64];

static int open_breakpoints(int *fds)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);
	int count;

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	for (count = 0; count < 64; count++) {
		attr.bp_addr = (uintptr_t)&watched[count];
		fds[count] = pm_open(&attr, 0, -1, -1, 0);
		if (fds[count] < 0)
			break;
	}
	return count;
}

TEST(free_at_once)
{
	int fds[64], first, again;

	require(REQUIRE_BREAKPOINT);
	first = open_breakpoints(fds);
	fact_int("slots", first);
	if (!first)
		say_absent("no breakpoint on data here (%s)", pm_errno_name(fds[0]));
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < first; i++)
			close(fds[i]);
		again = open_breakpoints(fds);
		if (again != first)
			say_broken("round %d: %d of %d slots are free after close (%s)", round,
				   again, first, pm_errno_name(fds[again]));
	}
}

PROBE_MAIN
