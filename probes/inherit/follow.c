/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an inherit event follow the tasks that its target creates? Tools that profile a whole
 * program from one descriptor rely on it.
 * Observed: a new thread or process causes page faults, and the one counter of the first task
 * gains exactly that many while the new task lives, and keeps them after its end.
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("inherited counts of threads and processes")
      SINCE("2.6.31")
      POINT(thread.counts_alive, "the sum includes faults of a new thread while it lives")
      POINT(thread.counts_after_exit, "the sum includes faults of a thread after its end")
      POINT(thread.only_with_inherit, "without attr.inherit a new thread is not counted")
      POINT(thread.second_generation, "the sum includes a thread made by an inherited process")
      POINT(fork.counts_alive, "the sum includes faults of a forked child while it lives")
      POINT(fork.counts_after_exit, "the sum includes faults of a forked child after its end")
      POINT(fork.only_with_inherit, "without attr.inherit a forked child is not counted")
      POINT(fork.second_generation, "the sum includes a process made by an inherited thread"))

#define FAULTS 23

FIXTURE(follow)
{
	int fd;
	struct worker worker;
};

FIXTURE_VARIANT(follow)
{
	enum worker_kind kind, other;
};
FIXTURE_VARIANT_ADD(follow, thread)
{
	.kind = WORKER_THREAD,
	.other = WORKER_CHILD,
};
FIXTURE_VARIANT_ADD(follow, fork)
{
	.kind = WORKER_CHILD,
	.other = WORKER_THREAD,
};

FIXTURE_SETUP(follow)
{
	const struct perf_event_attr attr = attr_counter(true);

	self->fd = must_open(&attr, 0, -1, -1, 0);
}

FIXTURE_TEARDOWN(follow)
{
	worker_stop(&self->worker);
}

TEST_F(follow, counts_alive)
{
	must_start_worker(&self->worker, variant->kind);
	expect_gain(self->fd, &self->worker, FAULTS, FAULTS);
}


/* Disabled before the end, so that what the exit itself costs is not in the way. */
TEST_F(follow, counts_after_exit)
{
	uint64_t alive, after;

	must_start_worker(&self->worker, variant->kind);
	expect_gain(self->fd, &self->worker, FAULTS, FAULTS);
	must_ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0);
	alive = must_count(self->fd);
	ASSERT_EQ(0, worker_stop(&self->worker));
	after = must_count(self->fd);
	if (after != alive)
		say_broken("alive=%" PRIu64 " after_exit=%" PRIu64, alive, after);
}

TEST_F(follow, only_with_inherit)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fd = must_open(&attr, 0, -1, -1, 0);

	must_start_worker(&self->worker, variant->kind);
	expect_gain(fd, &self->worker, FAULTS, 0);
	expect_gain(fd, NULL, FAULTS, FAULTS);	/* and yet it counts */
}


TEST_F(follow, second_generation)
{
	struct worker second;

	ASSERT_EQ(0, worker_prepare(&second, variant->kind));
	must_start_worker(&self->worker, variant->other);
	ASSERT_EQ(0, worker_do(&self->worker, worker_launch, &second));
	expect_gain(self->fd, &second, FAULTS, FAULTS);
	ASSERT_EQ(0, worker_do(&self->worker, worker_stop, &second));
}

PROBE_MAIN
