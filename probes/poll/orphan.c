/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What if the task of a ring's leader ends while others write into the ring? The leader reports
 * POLLHUP from then on, so a reader that waits for it can sleep no more; the ring itself works
 * on. A leader should belong to a task that outlives all others.
 * Observed with a child that ends, and a follower of this thread.
 */
#include "probe.h"
#include "waiter.h"

PROBE(TITLE("poll of a shared ring whose leader's task has ended")
      SINCE("3.18")
      COMMIT("179033b3e064")
      POINT(leader_hangs_up_early, "poll of a leader whose task has ended reports POLLHUP while "
	    "its followers still write")
      POINT(followers_still_write, "samples of the followers still reach the ring of a leader "
	    "whose task has ended"))

FIXTURE(ring)
{
	struct sampler leader;
	int follower;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int cpu = move_to_nth_cpu(0);
	struct worker task;
	int found;

	cpu = cpu < 0 ? 0 : cpu;
	must_start_worker(&task, WORKER_CHILD);	/* on this CPU, as its maker */
	self->follower = must_open(&attr, 0, cpu, -1, 0);
	attr.disabled = 0;
	self->leader = must_sampler(&attr, task.tid, cpu, 1);
	must_ioctl(self->follower, PERF_EVENT_IOC_SET_OUTPUT, self->leader.fd);
	found = samples_of_faults(&self->leader, &task, 5);
	if (found != 5)
		say_broken("samples=%d want=5 of the leader's task", found);
	if (poll_once(self->leader.fd, POLLIN, 0))
		say_broken("reported before the task has ended");
	worker_stop(&task);
	count_records(&self->leader.ring, 0);
}

FIXTURE_TEARDOWN(ring)
{
	close(self->follower);
}

TEST_F(ring, leader_hangs_up_early)
{
	expect_hang_up(poll_once(self->leader.fd, POLLIN, 200), "leader's task has ended");
	expect_hang_up(poll_once(self->leader.fd, POLLIN, 0), "asked again");
	if (poll_once(self->follower, POLLIN, 0) & POLLHUP)
		say_broken("POLLHUP of the follower, whose task lives");
}

TEST_F(ring, followers_still_write)
{
	expect_samples(self->follower, &self->leader.ring, 20, "into the ring of an ended task");
}

PROBE_MAIN
