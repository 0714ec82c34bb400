/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event live through execve(2) of its task? Attaching before the program of interest is
 * executed is how every profiler starts one.
 * Observed: a child executes this program anew and then causes an exact number of page faults;
 * the watcher's counter gains them, and the ring has their samples.
 */
#include "probe.h"

PROBE(TITLE("events across execve")
      SINCE("2.6.31")
      POINT(watched.counts, "an event on a task counts on in the program it executes")
      POINT(watched.samples, "and its samples arrive in the ring that was mapped before")
      POINT(watched.sum_kept, "and what was counted before stays in the value")
      POINT(inherited.counts, "the inherited event of a child counts on after its execve")
      POINT(inherited.samples, "and its samples arrive in the parent's ring")
      POINT(inherited.sum_kept, "and what was counted before stays in the sum"))

#define FAULTS 18

FIXTURE(survive)
{
	struct worker child;
	struct watch watch;
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
		cannot_tell("no CPU to stay on");
	attr.disabled = 0;
	attr.inherit = variant->inherit;
	if (variant->inherit)
		self->watch = must_watch(&attr, 0, cpu, 16);
	must_start(&self->child, WORKER_CHILD);
	if (!variant->inherit)
		self->watch = must_watch(&attr, self->child.tid, cpu, 16);
}

FIXTURE_TEARDOWN(survive)
{
	worker_stop(&self->child);
}

TEST_F(survive, counts)
{
	must_exec(&self->child);
	hold_gain(self->watch.fd, &self->child, FAULTS, FAULTS);
}


TEST_F(survive, samples)
{
	int samples;

	must_exec(&self->child);
	samples = samples_of_faults(&self->watch, &self->child, FAULTS);
	if (samples != FAULTS)
		broken("samples=%d want=%d after execve", samples, FAULTS);
}


TEST_F(survive, sum_kept)
{
	uint64_t before, after;

	ASSERT_EQ(0, worker_faults(&self->child, 10 * FAULTS));
	before = must_count(self->watch.fd);
	must_exec(&self->child);
	after = must_count(self->watch.fd);
	if (before < 10 * FAULTS || after < before)
		broken("before=%" PRIu64 " after execve=%" PRIu64, before, after);
}

PROBE_MAIN
