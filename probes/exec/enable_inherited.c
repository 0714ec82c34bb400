/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does enable_on_exec work in inherited copies? A launcher opens the event on itself, forks, and
 * the child executes the program that is to be measured.
 * Observed: exact page-fault counts of the parent's event while the child, then the parent, faults.
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("copies that start at execve")
      SINCE("2.6.31")
      POINT(inherited_copy, "an inherited copy with enable_on_exec starts at the child's execve")
      POINT(parent_stays_off, "the parent's event stays off at its child's execve"))

#define FAULTS 16

static int open_on_self(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.enable_on_exec = 1;
	attr.inherit = 1;
	return must_open(&attr, 0, -1, -1, 0);
}

TEST(inherited_copy)
{
	int fd = open_on_self();
	struct worker child;

	must_start_worker(&child, WORKER_CHILD);
	expect_gain(fd, &child, FAULTS, 0);
	must_exec_worker(&child);
	expect_gain(fd, &child, FAULTS, FAULTS);
	worker_stop(&child);
}

TEST(parent_stays_off)
{
	int fd = open_on_self();
	struct worker child;

	must_start_worker(&child, WORKER_CHILD);
	must_exec_worker(&child);
	expect_gain(fd, NULL, FAULTS, 0);
	expect_gain(fd, &child, FAULTS, FAULTS);
	worker_stop(&child);
}

PROBE_MAIN
