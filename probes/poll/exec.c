/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does poll tell that the watched task executes another program? An event outlives an exec, so
 * poll says nothing; but remove_on_exec takes the event away, and then a reader must be told that
 * nothing more will come.
 * Observed: a child executes this program and goes on; polls that do not wait. A kernel that knows
 * remove_on_exec is newer than POLLHUP at the end of a task, so silence is broken, not a no.
 * Linux 2e498d0a74e5 ("perf: Add support for event removal on exec") (v5.13)
 */
#include "probe.h"
#include "fork_exec.h"
#include "waiter.h"

PROBE(TITLE("poll and an exec of the watched task")
      SINCE("3.18")
      COMMIT("179033b3e064")
      POINT(removal_hangs_up, "poll reports POLLHUP when remove_on_exec has removed the event")
      SINCE("5.13")
      COMMIT("2e498d0a74e5")
      POINT(exec_alone_does_not, "poll reports no POLLHUP after an exec without remove_on_exec"))

FIXTURE(task)
{
	struct worker worker;
	struct sampler sampler;
};

FIXTURE_SETUP(task)
{
	must_start_worker(&self->worker, WORKER_CHILD);
}

FIXTURE_TEARDOWN(task)
{
	worker_stop(&self->worker);
}

/* The child's faults are samples; it executes; then this is what poll reports. */
static int poll_over_exec(FIXTURE_DATA(task) * self, bool remove_on_exec)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID), with;
	int found, revents;

	without.disabled = 0;
	with = without;
	with.remove_on_exec = remove_on_exec;
	self->sampler = ask_sampler(&with, &without, self->worker.tid, -1, 1, "remove_on_exec");
	found = samples_of_faults(&self->sampler, &self->worker, 5);
	revents = poll_once(self->sampler.fd, POLLIN, 0);
	if (found != 5 || revents)
		say_broken("before the exec: samples=%d want=5 revents=%#x", found, revents);
	must_exec_worker(&self->worker);
	return poll_once(self->sampler.fd, POLLIN, 0);
}

TEST_F(task, removal_hangs_up)
{
	const int revents = poll_over_exec(self, true);

	if (revents < 0)
		say_unknown("poll: %s", pm_errno_name(revents));
	if (!(revents & POLLHUP))
		say_broken("removed by exec: revents=%#x want=%#x", revents, POLLHUP);
}

TEST_F(task, exec_alone_does_not)
{
	int revents = poll_over_exec(self, false);
	int found = samples_of_faults(&self->sampler, &self->worker, 5);

	if (revents & POLLHUP || found != 5)
		say_broken("after exec: revents=%#x samples=%d want=5", revents, found);
}

PROBE_MAIN
