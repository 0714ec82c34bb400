/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which attrs may not join a group? The rules keep a group schedulable as one.
 * Observed: each wrong sibling is refused with the documented errno; the same attr may
 * lead a group of its own, and the sibling may join once the wrong field is corrected.
 */
#include "probe.h"
#include "pair.h"

PROBE(TITLE("attrs that may not join a group")
      SINCE("2.6.31")
      POINT(pinned_sibling, "a pinned sibling is refused with EINVAL")
      POINT(exclusive_sibling, "an exclusive sibling is refused with EINVAL")
      POINT(inherit_mismatch, "a sibling whose attr.inherit differs from its leader's is refused "
	    "with EINVAL")
      POINT(clock_mismatch, "a sibling whose clock differs from its leader's is refused with "
	    "EINVAL")
      SINCE("4.1"))

FIXTURE(rules)
{
	struct perf_event_attr attr;
	int leader;
};

FIXTURE_SETUP(rules)
{
	self->attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	self->leader = must_open(&self->attr, 0, -1, -1, 0);
}

FIXTURE_TEARDOWN(rules)
{
}

/* A bit that makes a leader, but no sibling. */
static void for_leaders_only(FIXTURE_DATA(rules) * self, const struct perf_event_attr *attr,
			     const char *what)
{
	expect_refused(pm_open(attr, 0, -1, self->leader, 0), EINVAL, BROKEN, what);
	close(must_open(attr, 0, -1, -1, 0));
	expect_join(self->attr, self->leader);
}

TEST_F(rules, pinned_sibling)
{
	struct perf_event_attr attr = self->attr;

	attr.pinned = 1;
	for_leaders_only(self, &attr, "pinned sibling");
}

TEST_F(rules, exclusive_sibling)
{
	struct perf_event_attr attr = self->attr;

	attr.exclusive = 1;
	for_leaders_only(self, &attr, "exclusive sibling");
}

TEST_F(rules, inherit_mismatch)
{
	struct perf_event_attr attr = self->attr;
	int fd;

	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	expect_refused(pm_open(&attr, 0, -1, self->leader, 0), EINVAL, NO,
		       "inherit sibling of a leader without");
	expect_refused(pm_open(&self->attr, 0, -1, fd, 0), EINVAL, NO,
		       "sibling without inherit of a leader with");
	close(must_open(&attr, 0, -1, fd, 0));
	expect_join(self->attr, self->leader);
}

/* One order of records cannot be that of two clocks. Linux 34f439278cef (v4.1) */
TEST_F(rules, clock_mismatch)
{
	struct perf_event_attr attr = self->attr;
	int fd;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	fd = ask_open(&attr, &self->attr, 0, -1, "use_clockid");
	expect_refused(pm_open(&attr, 0, -1, self->leader, 0), EINVAL, BROKEN,
		       "sibling with a clock of a leader without");
	expect_refused(pm_open(&self->attr, 0, -1, fd, 0), EINVAL, BROKEN,
		       "sibling without a clock of a leader with");
	close(must_open(&attr, 0, -1, fd, 0));
	attr.clockid = CLOCK_MONOTONIC_RAW;
	expect_refused(pm_open(&attr, 0, -1, fd, 0), EINVAL, BROKEN,
		       "sibling with another clock than its leader's");
	expect_join(self->attr, self->leader);
}

PROBE_MAIN
