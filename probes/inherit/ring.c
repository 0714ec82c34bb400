/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Into which ring do the copies of an inherit event write? A tracer that follows threads opens one
 * event for each CPU; each copy has to write into the ring of the event it was copied from.
 * Observed: samples with the task's tid in the ring, exactly as many as it caused page faults.
 */
#include "probe.h"

PROBE(TITLE("rings of inherited events")
      SINCE("2.6.34")
      POINT(thread, "each fault of a new thread is in the ring of its CPU")
      POINT(child, "each fault of a forked child is in the ring of its CPU")
      POINT(other_cpu, "faults of an inherited task on another CPU are not in that ring")
      NEEDS("cpu2")
      POINT(after_exit, "samples of a thread that has ended stay in the ring"))

#define FAULTS 15

FIXTURE(ring)
{
	struct worker worker;
	struct sampler sampler;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int cpu = move_to_nth_cpu(0);

	if (cpu < 0)
		say_unknown("no CPU to stay on");
	attr.disabled = 0;
	attr.inherit = 1;
	self->sampler = must_sampler(&attr, 0, cpu, 8);
}

FIXTURE_TEARDOWN(ring)
{
	worker_stop(&self->worker);
}

static void want_samples(FIXTURE_DATA(ring) * self, int want)
{
	int count = samples_of_faults(&self->sampler, &self->worker, FAULTS);

	if (count != want)
		say_broken("samples=%d want=%d", count, want);
}

TEST_F(ring, thread)
{
	must_start_worker(&self->worker, WORKER_THREAD);
	want_samples(self, FAULTS);
}

TEST_F(ring, child)
{
	must_start_worker(&self->worker, WORKER_CHILD);
	want_samples(self, FAULTS);
}

static int move_away(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(1) < 0 ? -ENODEV : 0;
}

TEST_F(ring, other_cpu)
{
	require(REQUIRE_PERF | REQUIRE_CPU2);
	must_start_worker(&self->worker, WORKER_THREAD);
	want_samples(self, FAULTS);
	ASSERT_EQ(0, worker_do(&self->worker, move_away, NULL));
	want_samples(self, 0);
}

TEST_F(ring, after_exit)
{
	pid_t tid;
	int count;

	must_start_worker(&self->worker, WORKER_THREAD);
	tid = self->worker.tid;
	count_samples(&self->sampler, 0);
	ASSERT_EQ(0, worker_faults(&self->worker, FAULTS));
	ASSERT_EQ(0, worker_stop(&self->worker));
	count = count_samples(&self->sampler, tid);
	if (count < FAULTS || count > 2 * FAULTS)
		say_broken("samples=%d want=%d", count, FAULTS);
}

PROBE_MAIN
