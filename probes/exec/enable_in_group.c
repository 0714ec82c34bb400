/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which members of a group does enable_on_exec start? A profiler opens a group on the program it is
 * about to execute, and sets the bit on the leader or on all members.
 * Observed: exact page-fault counts of leader and sibling on a child, before and after it executes
 * this program anew.
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("groups that start at execve")
      SINCE("2.6.31")
      POINT(sibling, "siblings with the bit start with the leader")
      SINCE("3.3")
      POINT(plain_sibling, "siblings without the bit, but enabled, start with the leader"))

#define FAULTS 16

FIXTURE(enable)
{
	struct worker child;
	int leader;
};

FIXTURE_SETUP(enable)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.enable_on_exec = 1;
	must_start_worker(&self->child, WORKER_CHILD);
	self->leader = must_open(&attr, self->child.tid, -1, -1, 0);
}

FIXTURE_TEARDOWN(enable)
{
	worker_stop(&self->child);
}

/* Nothing of the sibling before, everything of both members after. */
static void start_both(FIXTURE_DATA(enable) * self, bool with_bit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	int sibling;

	attr.disabled = attr.enable_on_exec = with_bit;
	sibling = must_open(&attr, self->child.tid, -1, self->leader, 0);
	expect_gain(sibling, &self->child, FAULTS, 0);
	must_exec_worker(&self->child);
	expect_gain(sibling, &self->child, FAULTS, FAULTS);
	expect_gain(self->leader, &self->child, FAULTS, FAULTS);
}

TEST_F(enable, sibling)
{
	start_both(self, true);
}

TEST_F(enable, plain_sibling)
{
	start_both(self, false);
}

PROBE_MAIN
