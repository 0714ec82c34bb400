/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When is an event whose descriptor was closed really gone? With the last mapping of its ring: a
 * program that forgets to unmap keeps counters busy that it can no longer reach.
 * Observed by the breakpoint slots of this thread, which are few: how many are free.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("the end of a closed event at its last munmap")
      SINCE("2.6.31")
      NEEDS("breakpoint")
      POINT(close_keeps_it, "closed but mapped, it keeps its breakpoint slot")
      POINT(munmap_ends_it, "after munmap of the last mapping its breakpoint slot is free"))

FIXTURE(breakpoint)
{
	struct pm_ring ring;
	int free_at_first, free_closed;
};

FIXTURE_SETUP(breakpoint)
{
	static volatile int watched;
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, HW_BREAKPOINT_LEN_4);
	int fd;

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	self->free_at_first = count_free_breakpoints(0);
	fd = must_open(&attr, 0, -1, -1, 0);
	must_map(fd, 1, &self->ring);
	if (count_free_breakpoints(0) != self->free_at_first - 1)
		say_unknown("free=%d with a breakpoint, %d without", count_free_breakpoints(0),
			    self->free_at_first);
	must_close(fd);
	self->free_closed = count_free_breakpoints(0);
}

FIXTURE_TEARDOWN(breakpoint)
{
	pm_ring_close(&self->ring);
}

TEST_F(breakpoint, close_keeps_it)
{
	if (self->free_closed != self->free_at_first - 1)
		say_broken("free=%d at first, %d with a closed event that is mapped",
			   self->free_at_first, self->free_closed);
}

TEST_F(breakpoint, munmap_ends_it)
{
	int found;

	pm_ring_close(&self->ring);
	found = count_free_breakpoints(0);
	if (found != self->free_at_first)
		say_broken("free=%d at first, %d after close and munmap", self->free_at_first,
			   found);
}

PROBE_MAIN
