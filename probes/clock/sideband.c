/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do all records of an event use the clock it chose, side-band and tracepoints as well as samples?
 * Observed: a name change and a system call between two readings of CLOCK_MONOTONIC_RAW, a clock
 * that no record would use by accident.
 */
#include "probe.h"
#include "tracepoint.h"
#include <sys/prctl.h>
#include <sys/syscall.h>

PROBE(TITLE("the chosen clock on every kind of record")
      SINCE("4.1")
      POINT(comm, "COMM bears the chosen clock's time in its trailer")
      POINT(task, "FORK bears it in its trailer and in its own time field")
      POINT(tracepoint, "a tracepoint's sample bears it")
      NEEDS("tracefs"))

static struct sampler watch_chosen(struct perf_event_attr attr)
{
	struct perf_event_attr without;

	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TIME;
	without = attr;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC_RAW;
	return ask_run_sampler(&attr, &without, 0, -1, 2, "use_clockid");
}

static uint64_t raw_now(void)
{
	uint64_t now = 0;

	pm_clock_ns(CLOCK_MONOTONIC_RAW, &now);
	return now;
}

static void must_bracket(uint64_t before, uint64_t time)
{
	const uint64_t after = raw_now();

	if (time < before || time > after)
		say_broken("time=%" PRIu64 " not within %" PRIu64 "..%" PRIu64, time, before,
			   after);
}

TEST(comm)
{
	struct perf_event_attr attr = attr_sideband();
	struct pm_record record;
	struct sampler sampler;
	uint64_t before;

	attr.comm = 1;
	sampler = watch_chosen(attr);
	before = raw_now();
	prctl(PR_SET_NAME, "stamped");
	if (!find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("no COMM");
	must_bracket(before, record.sid.time);
}

static void *nothing(void *unused)
{
	return unused;
}

TEST(task)
{
	struct perf_event_attr attr = attr_sideband();
	struct pm_record record;
	struct sampler sampler;
	uint64_t before;

	attr.task = 1;
	sampler = watch_chosen(attr);
	before = raw_now();
	ASSERT_EQ(0, run_in_thread(nothing, NULL));
	if (!find_record(&sampler, PERF_RECORD_FORK, &record))
		say_broken("no FORK");
	must_bracket(before, record.sid.time);
	must_bracket(before, record.task.time);
}

TEST(tracepoint)
{
	struct perf_event_attr attr = must_call_tracepoint("sys_enter_getppid");
	struct pm_record record;
	struct sampler sampler;
	uint64_t before;

	attr.sample_period = 1;
	sampler = watch_chosen(attr);
	before = raw_now();
	syscall(SYS_getppid);
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a system call");
	must_bracket(before, record.sample.sid.time);
}

PROBE_MAIN
