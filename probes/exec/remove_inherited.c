/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does remove_on_exec hold for each inherited copy by itself? A child that executes another program
 * must not take the event off its parent.
 * Observed: exact page-fault counts of the parent's event while a child that has executed this
 * program anew, then the parent, faults.
 * Linux 2e498d0a74e5 ("perf: Add support for event removal on exec") (v5.13)
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("copies that are removed at execve")
      SINCE("5.13")
      COMMIT("2e498d0a74e5")
      POINT(inherited_copy, "an inherited copy is removed by its own task's execve")
      POINT(parent_keeps, "the parent's event with remove_on_exec survives a child's execve"))

#define FAULTS 14

FIXTURE(child)
{
	struct worker child;
	int fd;
};

FIXTURE_SETUP(child)
{
	const struct perf_event_attr without = attr_counter(true);
	struct perf_event_attr attr = without;

	attr.remove_on_exec = 1;
	self->fd = ask_open(&attr, &without, 0, -1, "remove_on_exec");
	must_start_worker(&self->child, WORKER_CHILD);
}

FIXTURE_TEARDOWN(child)
{
	worker_stop(&self->child);
}

TEST_F(child, inherited_copy)
{
	expect_gain(self->fd, &self->child, FAULTS, FAULTS);
	must_exec_worker(&self->child);
	expect_gain(self->fd, &self->child, FAULTS, 0);
}

TEST_F(child, parent_keeps)
{
	must_exec_worker(&self->child);
	expect_gain(self->fd, NULL, FAULTS, FAULTS);
}

PROBE_MAIN
