/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events may not join a group? The rules keep a group schedulable as one.
 * Observed: each wrong sibling is refused with the documented errno, and the same sibling with
 * the wrong thing put right joins.
 */
#include "probe.h"

PROBE(TITLE("rules of joining a group")
      SINCE("2.6.31")
      POINT(sibling_of_sibling, "EINVAL: only a leader can be joined")
      POINT(other_cpu, "EINVAL: leader and sibling are for the same CPU, or both for any")
      POINT(other_task, "EINVAL: leader and sibling watch the same task")
      POINT(other_clock, "EINVAL: leader and sibling take their times from the same clock")
      SINCE("4.1")
      POINT(pinned_sibling, "EINVAL: only a leader may be pinned")
      POINT(exclusive_sibling, "EINVAL: only a leader may be exclusive")
      POINT(inherit_mismatch, "EINVAL: leader and sibling agree on attr.inherit")
      POINT(closed_descriptor, "EBADF for a group_fd that is not open")
      POINT(foreign_descriptor, "EBADF for a group_fd that is no event"))

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

/* The same sibling without what is wrong about it must be welcome. */
static int join(struct __test_metadata *_metadata, FIXTURE_DATA(rules) *self)
{
	return must_open(&self->attr, 0, -1, self->leader, 0);
}

TEST_F(rules, sibling_of_sibling)
{
	int sibling = join(_metadata, self);

	hold_rule(pm_open(&self->attr, 0, -1, sibling, 0), EINVAL, BROKEN, "sibling of a sibling");
	join(_metadata, self);
}

TEST_F(rules, other_cpu)
{
	int cpu = move_to_nth_cpu(0);

	ASSERT_LE(0, cpu);
	hold_rule(pm_open(&self->attr, 0, cpu, self->leader, 0), EINVAL, BROKEN,
		  "sibling for one CPU, leader for any");
	close(must_open(&self->attr, 0, cpu, -1, 0));
	join(_metadata, self);
}

TEST_F(rules, other_task)
{
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	hold_rule(pm_open(&self->attr, worker.tid, -1, self->leader, 0), EINVAL, BROKEN,
		  "sibling on another thread");
	close(must_open(&self->attr, worker.tid, -1, -1, 0));
	join(_metadata, self);
}

TEST_F(rules, other_clock)
{
	struct perf_event_attr attr = self->attr;
	int fd;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	fd = ask_open(&attr, &self->attr, 0, -1, "use_clockid");
	hold_rule(pm_open(&attr, 0, -1, self->leader, 0), EINVAL, BROKEN,
		  "sibling with another clock");
	close(must_open(&attr, 0, -1, fd, 0));
	join(_metadata, self);
}

TEST_F(rules, pinned_sibling)
{
	struct perf_event_attr attr = self->attr;

	attr.pinned = 1;
	hold_rule(pm_open(&attr, 0, -1, self->leader, 0), EINVAL, BROKEN, "pinned sibling");
	close(must_open(&attr, 0, -1, -1, 0));
	join(_metadata, self);
}

TEST_F(rules, exclusive_sibling)
{
	struct perf_event_attr attr = self->attr;

	attr.exclusive = 1;
	hold_rule(pm_open(&attr, 0, -1, self->leader, 0), EINVAL, BROKEN, "exclusive sibling");
	close(must_open(&attr, 0, -1, -1, 0));
	join(_metadata, self);
}

TEST_F(rules, inherit_mismatch)
{
	struct perf_event_attr attr = self->attr;
	int fd;

	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	hold_rule(pm_open(&attr, 0, -1, self->leader, 0), EINVAL, NO,
		  "inherit sibling of a leader without");
	hold_rule(pm_open(&self->attr, 0, -1, fd, 0), EINVAL, NO,
		  "sibling without inherit of a leader with");
	close(must_open(&attr, 0, -1, fd, 0));
	join(_metadata, self);
}

TEST_F(rules, closed_descriptor)
{
	int number = join(_metadata, self);

	close(number);
	hold_rule(pm_open(&self->attr, 0, -1, number, 0), EBADF, BROKEN, "closed group_fd");
	join(_metadata, self);
}

TEST_F(rules, foreign_descriptor)
{
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	hold_rule(pm_open(&self->attr, 0, -1, ends[0], 0), EBADF, BROKEN, "a pipe as group_fd");
	join(_metadata, self);
}

PROBE_MAIN
