/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One event for all tasks of a CPU: what system-wide profilers open on every CPU.
 * Observed: a child with an address space of its own causes page faults on that CPU and on another
 * one. Its samples are told apart by their thread id, so other tasks do not disturb the count.
 */
#include "probe.h"

PROBE(TITLE("every task of one CPU")
      SINCE("2.6.31")
      ALONE("what others do on the CPU fills the ring, too")
      POINT(sees_other_tasks, "pid -1, cpu N: 16 faults of a task on N are 16 samples")
      POINT(sees_opener, "pid -1, cpu N: the opener is a task as any other")
      POINT(blind_elsewhere, "pid -1, cpu N: faults on another CPU give no sample")
      NEEDS("cpu2"))

static const struct perf_event_attr *samples_with_tid(void)
{
	static struct perf_event_attr attr;

	attr = attr_faults(PERF_SAMPLE_TID);
	attr.disabled = 0;
	return &attr;
}

static int samples_of(struct sampler *sampler, pid_t tid)
{
	struct pm_record record;
	int samples = 0;

	while (find_record(sampler, 0, &record)) {
		if (record.type == PERF_RECORD_SAMPLE)
			samples += record.sample.sid.tid == (uint32_t)tid;
		if (record.type == PERF_RECORD_LOST)
			say_unknown("too many faults of others: records were lost");
	}
	return samples;
}

/* The samples that a child's 16 faults on one CPU leave in the ring of another or the same. */
static int watch_child(unsigned int watched, unsigned int used)
{
	struct sampler sampler;
	struct worker child;
	int cpu, found;

	must_start_worker(&child, WORKER_CHILD);
	cpu = move_to_nth_cpu(watched);
	ASSERT_LE(0, cpu);
	ASSERT_LE(0, worker_move(&child, used));
	sampler = must_sampler(samples_with_tid(), -1, cpu, 64);
	for (int again = 0; again < 3; again++) {	/* as in samples_of_faults() */
		ASSERT_EQ(0, worker_faults(&child, 16));
		found = samples_of(&sampler, child.tid);
		if (found <= 16)
			break;
	}
	return found;
}

TEST(sees_other_tasks)
{
	int samples = watch_child(0, 0);

	if (samples != 16)
		say_broken("samples=%d want=16", samples);
}

TEST(sees_opener)
{
	struct sampler sampler = must_sampler(samples_with_tid(), -1, move_to_nth_cpu(0), 64);
	int samples;

	/* Reading a page of the ring for the first time is a fault, too. */
	for (int i = 0; i < 2; i++) {
		cause_faults(1);
		samples_of(&sampler, 0);
	}
	ASSERT_EQ(0, cause_faults(16));
	samples = samples_of(&sampler, pm_gettid());
	if (samples != 16)
		say_broken("samples=%d want=16", samples);
}

TEST(blind_elsewhere)
{
	int samples, control;

	require(REQUIRE_CPU2);
	control = watch_child(1, 1);
	samples = watch_child(0, 1);
	if (samples != 0 || control != 16)
		say_broken("elsewhere=%d want=0, on the CPU=%d want=16", samples, control);
}

PROBE_MAIN
