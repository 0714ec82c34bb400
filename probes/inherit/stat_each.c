/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does inherit_stat write one record for each thread? While a task's events are all inherited, the
 * kernel may exchange the contexts of the task and its thread when one follows the other on a CPU.
 * If the thread ends with the task's own context, its record never comes. One event that is not
 * inherited stops that.
 * Whether that happens follows scheduling, so it is not asked here.
 * Observed: records of five threads that come and go beside such a companion.
 */
#include "probe.h"
#include "short_thread.h"

PROBE(TITLE("records of several inherited threads")
      SINCE("2.6.31")
      POINT(each_task, "inherit_stat writes one record for each of several threads, none twice"))

#define FAULTS 30
#define THREADS 5

/* How many records of each of the threads came. */
static void run_all(int *seen)
{
	struct perf_event_attr attr = attr_counter(true);
	struct pm_record record;
	struct sampler sampler;
	pid_t tids[THREADS];

	attr.inherit_stat = 1;
	sampler = must_sampler(&attr, 0, move_to_nth_cpu(0), 8);
	for (int i = 0; i < THREADS; i++) {
		seen[i] = 0;
		tids[i] = must_run_thread(FAULTS);
	}
	while (find_record(&sampler, PERF_RECORD_READ, &record))
		for (int i = 0; i < THREADS; i++)
			seen[i] += record.read.tid == (uint32_t)tids[i];
}

TEST(each_task)
{
	const struct perf_event_attr companion = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int seen[THREADS];

	must_open(&companion, 0, -1, -1, 0);
	run_all(seen);
	for (int i = 0; i < THREADS; i++)
		if (seen[i] != 1)
			say_broken("thread %d of %d: %d records, want 1", i, THREADS, seen[i]);
}

PROBE_MAIN
