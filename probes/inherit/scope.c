/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks does an inherit event not cover? A task that has it passes it on at clone(2), so
 * tasks that existed before, and all that they create later, are never counted: a tracer that
 * attaches late must open one event for each thread.
 * Observed: exact gains of one counter while each kind of task causes page faults.
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("tasks that an inherit event does not cover")
      SINCE("2.6.31")
      POINT(thread.existing, "a thread older than an inherit event is not counted")
      POINT(thread.of_existing, "a thread made by a thread older than an inherit event is not "
	    "counted")
      POINT(thread.of_target, "a thread made by the target of an inherit event is counted")
      POINT(child.existing, "a child older than an inherit event is not counted")
      POINT(child.of_existing, "a child made by a child older than an inherit event is not counted")
      POINT(child.of_target, "a child made by the target of an inherit event is counted"))

#define FAULTS 19

FIXTURE(scope)
{
	struct worker older, newer;
	int fd;
};

FIXTURE_VARIANT(scope)
{
	enum worker_kind kind;
};
FIXTURE_VARIANT_ADD(scope, thread)
{
	.kind = WORKER_THREAD,
};
FIXTURE_VARIANT_ADD(scope, child)
{
	.kind = WORKER_CHILD,
};

FIXTURE_SETUP(scope)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	if (worker_prepare(&self->newer, variant->kind))
		say_unknown("no pipes");
	must_start_worker(&self->older, variant->kind);
	attr.disabled = 0;
	attr.inherit = 1;
	self->fd = must_open(&attr, 0, -1, -1, 0);
}

FIXTURE_TEARDOWN(scope)
{
	worker_stop(&self->newer);
	worker_stop(&self->older);
}

/* What the event gains by a worker; it is alive, for what this task does counts as well. */
static void want(int fd, struct worker *worker, int faults)
{
	expect_gain(fd, worker, FAULTS, faults);
	expect_gain(fd, NULL, FAULTS, FAULTS);
}

TEST_F(scope, existing)
{
	want(self->fd, &self->older, 0);
}

/* The newer one is not ours to stop, and this copy of it knows so. */
TEST_F(scope, of_existing)
{
	ASSERT_EQ(0, worker_do(&self->older, worker_launch, &self->newer));
	want(self->fd, &self->newer, 0);
	ASSERT_EQ(0, worker_do(&self->older, worker_stop, &self->newer));
}

TEST_F(scope, of_target)
{
	ASSERT_EQ(0, worker_launch(&self->newer));
	want(self->fd, &self->newer, FAULTS);
}

PROBE_MAIN
