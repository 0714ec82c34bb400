/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does attr.inherit_thread limit inheritance to threads of the process? A library inside a program
 * can follow its own process without paying for what it forks.
 * Observed: faults of a new thread are in the sum, those of a forked child are not.
 * Linux 2b26f0aa0049 ("perf: Support only inheriting events if cloned with CLONE_THREAD") (v5.13)
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("inheritance by threads alone")
      SINCE("5.13")
      COMMIT("2b26f0aa0049")
      POINT(thread, "with inherit_thread a new thread is counted")
      POINT(not_child, "with inherit_thread a forked child is not counted")
      POINT(not_thread_of_child, "with inherit_thread a thread of a forked child is not counted")
      POINT(child_of_thread, "with inherit_thread a child forked by an inherited thread is not "
	    "counted"))

#define FAULTS 21

static struct perf_event_attr counting(bool inherit_thread)
{
	struct perf_event_attr attr = attr_counter(true);

	attr.inherit_thread = inherit_thread;
	return attr;
}

FIXTURE(thread_only)
{
	struct worker first, second;
	int fd;
};

FIXTURE_SETUP(thread_only)
{
	const struct perf_event_attr attr = counting(true), without = counting(false);

	self->fd = ask_open(&attr, &without, 0, -1, "inherit_thread");
}

FIXTURE_TEARDOWN(thread_only)
{
	worker_stop(&self->first);
}

/*
 * What the event gains by a worker; it is alive, for what this task does counts as well. Pages that
 * were shared by a fork fault once more here: that is measured again.
 */
static void want(int fd, struct worker *worker, int faults)
{
	for (int i = 0; i < 3; i++)
		if (gain_of_faults(fd, worker, FAULTS) == (uint64_t)faults)
			break;
	expect_gain(fd, worker, FAULTS, faults);
	expect_gain(fd, NULL, FAULTS, FAULTS);
}

TEST_F(thread_only, thread)
{
	must_start_worker(&self->first, WORKER_THREAD);
	want(self->fd, &self->first, FAULTS);
}

TEST_F(thread_only, not_child)
{
	must_start_worker(&self->first, WORKER_CHILD);
	want(self->fd, &self->first, 0);
}

TEST_F(thread_only, not_thread_of_child)
{
	ASSERT_EQ(0, worker_prepare(&self->second, WORKER_THREAD));
	must_start_worker(&self->first, WORKER_CHILD);
	ASSERT_EQ(0, worker_do(&self->first, worker_launch, &self->second));
	want(self->fd, &self->second, 0);
	ASSERT_EQ(0, worker_do(&self->first, worker_stop, &self->second));
}

TEST_F(thread_only, child_of_thread)
{
	ASSERT_EQ(0, worker_prepare(&self->second, WORKER_CHILD));
	must_start_worker(&self->first, WORKER_THREAD);
	ASSERT_EQ(0, worker_do(&self->first, worker_launch, &self->second));
	want(self->fd, &self->second, 0);
	ASSERT_EQ(0, worker_do(&self->first, worker_stop, &self->second));
}

PROBE_MAIN
