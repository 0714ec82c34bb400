/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attr.inherit_stat: what does each inherited task tell about itself at its end? With it one ring
 * gives the counts of every thread, and not only their sum.
 * Observed: a thread causes an exact number of page faults and ends; a PERF_RECORD_READ with its
 * tid and at least that count must follow, and none without the bit.
 * A trap: while a task's events are all inherited, the kernel may exchange the contexts of the
 * task and its thread when one follows the other on a CPU. If the thread ends with the task's own
 * context, its record never comes. One event that is not inherited stops that.
 */
#include "probe.h"

PROBE(TITLE("counts of each inherited task at its end")
      SINCE("2.6.31")
      POINT(read_record, "PERF_RECORD_READ with the thread's pid and tid when it ends")
      POINT(own_value, "its value is the thread's own count, not the sum")
      POINT(each_task, "one record for each of several threads, none twice")
      POINT(only_with_bit, "no such record without attr.inherit_stat")
      POINT(sum_kept, "the sum of the descriptor still includes the threads")
      FACT(records_without_companion, int, "records",
	   "records of 5 threads when all events of the task are inherited"))

#define FAULTS 500

static struct perf_event_attr counting(bool stat)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.inherit = 1;
	attr.inherit_stat = stat;
	return attr;
}

static void run_thread(struct __test_metadata *_metadata, unsigned int faults, pid_t *tid)
{
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	*tid = worker.tid;
	ASSERT_EQ(0, worker_faults(&worker, faults));
	ASSERT_EQ(0, worker_stop(&worker));
}

/* Inherit events with a ring are for one CPU: stay there, and the threads with us. */
static struct watch watch_here(struct __test_metadata *_metadata, bool stat, bool companion)
{
	const struct perf_event_attr attr = counting(stat);
	const struct perf_event_attr other = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = move_to_nth_cpu(0);

	ASSERT_LE(0, cpu);
	if (companion)
		must_open(&other, 0, -1, -1, 0);
	return must_watch(&attr, 0, cpu, 8);
}

TEST(read_record)
{
	struct watch watch = watch_here(_metadata, true, true);
	struct pm_record record;
	pid_t tid;

	run_thread(_metadata, FAULTS, &tid);
	if (!seek(&watch, PERF_RECORD_READ, &record))
		broken("no PERF_RECORD_READ after the thread's end");
	if (record.read.tid != (uint32_t)tid || record.read.pid != (uint32_t)getpid())
		broken("pid=%u tid=%u want pid=%d tid=%d", record.read.pid, record.read.tid,
		       getpid(), tid);
}

TEST(own_value)
{
	struct watch watch = watch_here(_metadata, true, true);
	struct pm_record record;
	uint64_t value;
	pid_t tid;

	ASSERT_EQ(0, cause_faults(4 * FAULTS));
	run_thread(_metadata, FAULTS, &tid);
	if (!seek(&watch, PERF_RECORD_READ, &record))
		broken("no PERF_RECORD_READ after the thread's end");
	value = record.read.counts.member[0].value;
	/* Beginning and end of a thread cost some faults of their own. */
	if (value < FAULTS || value > 2 * FAULTS)
		broken("value=%" PRIu64 " want=%d and a few", value, FAULTS);
}

static void run_five(struct __test_metadata *_metadata, struct watch *watch, int *seen)
{
	struct pm_record record;
	pid_t tids[5];

	for (int i = 0; i < 5; i++) {
		seen[i] = 0;
		run_thread(_metadata, FAULTS, &tids[i]);
	}
	while (seek(watch, PERF_RECORD_READ, &record))
		for (int i = 0; i < 5; i++)
			seen[i] += record.read.tid == (uint32_t)tids[i];
}

TEST(each_task)
{
	struct watch watch = watch_here(_metadata, true, false);
	int seen[5];

	run_five(_metadata, &watch, seen);
	fact_int("records_without_companion", seen[0] + seen[1] + seen[2] + seen[3] + seen[4]);
	close(watch.fd);
	pm_ring_close(&watch.ring);
	watch = watch_here(_metadata, true, true);
	run_five(_metadata, &watch, seen);
	for (int i = 0; i < 5; i++)
		if (seen[i] != 1)
			broken("thread %d of 5: %d records, want 1", i, seen[i]);
}

TEST(only_with_bit)
{
	struct watch watch = watch_here(_metadata, false, true);
	struct pm_record record;
	pid_t tid;

	run_thread(_metadata, FAULTS, &tid);
	if (seek(&watch, PERF_RECORD_READ, &record))
		broken("PERF_RECORD_READ of tid %u without inherit_stat", record.read.tid);
	if (must_count(watch.fd) < FAULTS)
		broken("the thread was not counted");
}

TEST(sum_kept)
{
	struct watch watch = watch_here(_metadata, true, true);
	uint64_t before = must_count(watch.fd), after;
	pid_t tid;

	run_thread(_metadata, FAULTS, &tid);
	after = must_count(watch.fd);
	if (after - before < FAULTS || after - before > 2 * FAULTS)
		broken("gained=%" PRIu64 " want=%d and a few", after - before, FAULTS);
}

PROBE_MAIN
