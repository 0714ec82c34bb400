/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can samples of inherited events be told apart? ID names the event that was opened, STREAM_ID the
 * copy that the kernel made for one child.
 * Observed: a thread started after the open causes page faults into the same ring. When two tasks
 * of one parent switch directly the kernel may swap their contexts, and STREAM_ID goes with either:
 * nothing can be said about whose it is.
 */
#include "probe.h"

PROBE(TITLE("ids of inherited events")
      SINCE("2.6.31")
      POINT(id_is_parents, "every sample of an inherited thread carries the parent's id")
      POINT(copies_differ, "samples of a copy carry a STREAM_ID that is not the ID of its parent")
      POINT(own_stream_id, "samples of this thread itself carry a STREAM_ID that is not 0"))

static void *fault_ten(void *ret)
{
	*(pid_t *)ret = pm_gettid();
	cause_faults(10);
	return NULL;
}

static struct sampler watch_inherited(pid_t *ret_tid)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_ID |
						  PERF_SAMPLE_STREAM_ID);
	int cpu = move_to_nth_cpu(0);
	struct sampler sampler;

	ASSERT_LE(0, cpu);
	attr.inherit = 1;
	attr.read_format = PERF_FORMAT_ID;
	sampler = must_run_sampler(&attr, 0, cpu, 4);
	ASSERT_EQ(0, run_in_thread(fault_ten, ret_tid));
	ASSERT_EQ(0, cause_faults(10));
	return sampler;
}

/* Either task may have the copy, as their contexts are swapped: samples of both count. */
TEST(id_is_parents)
{
	pid_t tid = 0;
	struct sampler sampler = watch_inherited(&tid);
	struct pm_counts counts;
	struct pm_record record;
	int seen = 0;

	ASSERT_EQ(0, pm_read_counts(sampler.fd, PERF_FORMAT_ID, &counts));
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		if (record.sample.sid.id != counts.member[0].id)
			say_broken("id=%" PRIu64 " want=%" PRIu64, record.sample.sid.id,
				   counts.member[0].id);
		seen += record.sample.sid.tid == (uint32_t)tid;
	}
	if (seen < 10)
		say_broken("samples of the inherited thread=%d want>=10", seen);
}

/* Of each round one of the two tasks has the copy, except where their contexts are swapped between
 * the thread's last fault and its end. */
TEST(copies_differ)
{
	struct pm_record record;
	int seen = 0;

	for (int round = 0; round < 5; round++) {
		pid_t tid = 0;
		struct sampler sampler = watch_inherited(&tid);

		for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++)
			if (record.sample.sid.stream_id != record.sample.sid.id)
				return;
	}
	if (seen < 5 * 20)
		say_unknown("samples=%d want>=100", seen);
	say_broken("in each of %d samples STREAM_ID is the ID", seen);
}

TEST(own_stream_id)
{
	pid_t tid = 0;
	struct sampler sampler = watch_inherited(&tid);
	struct pm_record record;
	int seen = 0;

	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		if (record.sample.sid.tid != (uint32_t)pm_gettid())
			continue;
		seen++;
		if (!record.sample.sid.stream_id)
			say_broken("a stream id of 0");
	}
	if (seen < 10)
		say_broken("samples of this thread=%d want>=10", seen);
}

PROBE_MAIN
