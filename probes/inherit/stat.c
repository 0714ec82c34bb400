/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does attr.inherit_stat write a record of each inherited task's own count at its end? One ring
 * then gives the counts of every thread, and not only their sum.
 * Observed: a thread causes an exact number of page faults and ends; a PERF_RECORD_READ with its
 * tid and at least that count must follow, and none without the bit.
 */
#include "probe.h"
#include "short_thread.h"

PROBE(TITLE("counts of each inherited task at its end")
      SINCE("2.6.31")
      POINT(read_record, "inherit_stat writes a PERF_RECORD_READ with a thread's pid and tid when "
	    "it ends")
      POINT(own_value, "the value of an inherit_stat record is the thread's own count, not the sum")
      POINT(only_with_bit, "no PERF_RECORD_READ is written without attr.inherit_stat")
      POINT(sum_kept, "with inherit_stat the sum still includes the threads"))

#define FAULTS 500

/* Inherit events with a ring are for one CPU: stay there, and the threads with us. The other event
 * keeps the contexts apart: see inherit.stat_each. */
static struct sampler watch_here(bool stat)
{
	const struct perf_event_attr other = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr attr = attr_counter(true);
	int cpu = move_to_nth_cpu(0);

	ASSERT_LE(0, cpu);
	must_open(&other, 0, -1, -1, 0);
	attr.inherit_stat = stat;
	return must_sampler(&attr, 0, cpu, 8);
}

TEST(read_record)
{
	struct sampler sampler = watch_here(true);
	struct pm_record record;
	pid_t tid;

	tid = must_run_thread(FAULTS);
	if (!find_record(&sampler, PERF_RECORD_READ, &record))
		say_broken("no PERF_RECORD_READ after the thread's end");
	if (record.read.tid != (uint32_t)tid || record.read.pid != (uint32_t)getpid())
		say_broken("pid=%u tid=%u want pid=%d tid=%d", record.read.pid, record.read.tid,
			   getpid(), tid);
}

TEST(own_value)
{
	struct sampler sampler = watch_here(true);
	struct pm_record record;
	uint64_t value;

	ASSERT_EQ(0, cause_faults(4 * FAULTS));
	must_run_thread(FAULTS);
	if (!find_record(&sampler, PERF_RECORD_READ, &record))
		say_broken("no PERF_RECORD_READ after the thread's end");
	value = record.read.counts.member[0].value;
	/* Beginning and end of a thread cost some faults of their own. */
	if (value < FAULTS || value > 2 * FAULTS)
		say_broken("value=%" PRIu64 " want=%d and a few", value, FAULTS);
}

TEST(only_with_bit)
{
	struct sampler sampler = watch_here(false);
	struct pm_record record;

	must_run_thread(FAULTS);
	if (find_record(&sampler, PERF_RECORD_READ, &record))
		say_broken("PERF_RECORD_READ of tid %u without inherit_stat", record.read.tid);
	if (must_count(sampler.fd) < FAULTS)
		say_broken("the thread was not counted");
}

TEST(sum_kept)
{
	struct sampler sampler = watch_here(true);
	uint64_t before = must_count(sampler.fd), after;

	must_run_thread(FAULTS);
	after = must_count(sampler.fd);
	if (after - before < FAULTS || after - before > 2 * FAULTS)
		say_broken("gained=%" PRIu64 " want=%d and a few", after - before, FAULTS);
}

PROBE_MAIN
