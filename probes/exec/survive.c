/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event survive execve(2) of its task? Every profiler that starts a program attaches before
 * the program is executed.
 * Observed: a child executes this program anew and then causes an exact number of page faults;
 * the watcher's counter gains them, and the ring has their samples.
 */
#include "probe.h"
#include "fork_exec.h"

PROBE(TITLE("events across execve")
      SINCE("2.6.31")
      POINT(watched.counts, "an event on a task counts on in the program it executes")
      POINT(watched.samples, "samples of the executed program arrive in the ring mapped before")
      POINT(watched.sum_kept, "what was counted before execve stays in the value")
      POINT(inherited.counts, "the inherited event of a child counts on after its execve")
      POINT(inherited.samples, "a child's samples arrive in the parent's ring after its execve")
      POINT(inherited.sum_kept, "what a child counted before its execve stays in the sum"))

#define FAULTS 18

FIXTURE(survive)
{
	struct worker child;
	struct sampler sampler;
};

FIXTURE_VARIANT(survive)
{
	bool inherit;
};
FIXTURE_VARIANT_ADD(survive, watched)
{
	.inherit = false,
};
FIXTURE_VARIANT_ADD(survive, inherited)
{
	.inherit = true,
};

FIXTURE_SETUP(survive)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int cpu = move_to_nth_cpu(0);

	if (cpu < 0)
		say_unknown("no CPU to stay on");
	attr.disabled = 0;
	attr.inherit = variant->inherit;
	if (variant->inherit)
		self->sampler = must_sampler(&attr, 0, cpu, 16);
	must_start_worker(&self->child, WORKER_CHILD);
	if (!variant->inherit)
		self->sampler = must_sampler(&attr, self->child.tid, cpu, 16);
}

FIXTURE_TEARDOWN(survive)
{
	worker_stop(&self->child);
}

TEST_F(survive, counts)
{
	must_exec_worker(&self->child);
	expect_gain(self->sampler.fd, &self->child, FAULTS, FAULTS);
}


TEST_F(survive, samples)
{
	int samples;

	must_exec_worker(&self->child);
	samples = samples_of_faults(&self->sampler, &self->child, FAULTS);
	if (samples != FAULTS)
		say_broken("samples=%d want=%d after execve", samples, FAULTS);
}


TEST_F(survive, sum_kept)
{
	uint64_t before, after;

	ASSERT_EQ(0, worker_faults(&self->child, 10 * FAULTS));
	before = must_count(self->sampler.fd);
	must_exec_worker(&self->child);
	after = must_count(self->sampler.fd);
	if (before < 10 * FAULTS || after < before)
		say_broken("before=%" PRIu64 " after execve=%" PRIu64, before, after);
}

PROBE_MAIN
