/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event on the parent get FORK, and does the record name child and parent? A profiler that
 * follows threads starts from it.
 * Observed: a thread and a child start and end; their records are looked up by pid and tid.
 */
#include "probe.h"
#include "fork_exit.h"

PROBE(TITLE("new tasks in the ring")
      SINCE("2.6.31")
      POINT(fork_thread, "a new thread gives one FORK with pid, tid, ppid, ptid of its creator")
      POINT(fork_process, "a new process gives one FORK with its pid and the parent's")
      POINT(fork_time, "FORK carries a time between clock readings around it (attr.use_clockid)")
      SINCE("4.1"))

static void must_be_born(struct sampler *sampler, pid_t pid, pid_t tid)
{
	struct pm_record record;
	int found = 0;

	while (find_record(sampler, PERF_RECORD_FORK, &record)) {
		if (record.task.tid != (uint32_t)tid)
			say_broken("FORK of tid %u, which is not the new task", record.task.tid);
		if (record.task.pid != (uint32_t)pid || record.task.ppid != (uint32_t)getpid() ||
		    record.task.ptid != (uint32_t)pm_gettid())
			say_broken("pid=%u tid=%u ppid=%u ptid=%u want=%d,%d,%d,%d",
				   record.task.pid, record.task.tid, record.task.ppid,
				   record.task.ptid, pid, tid, getpid(), pm_gettid());
		found++;
	}
	if (found != 1)
		say_broken("FORK records=%d want=1", found);
}

TEST(fork_thread)
{
	struct sampler sampler = watch_tasks();
	pid_t tid = 0;

	ASSERT_EQ(0, run_in_thread(thread_tid, &tid));
	must_be_born(&sampler, getpid(), tid);
}

TEST(fork_process)
{
	struct sampler sampler = watch_tasks();
	pid_t child = start_child(end_child, NULL);

	ASSERT_EQ(0, wait_child(child));
	must_be_born(&sampler, child, child);
}

TEST(fork_time)
{
	struct perf_event_attr attr = attr_tasks(), without = attr;
	struct pm_record record;
	struct sampler sampler;
	uint64_t before, after;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 1, "use_clockid");
	before = now_ns();
	ASSERT_EQ(0, wait_child(start_child(end_child, NULL)));
	after = now_ns();
	if (!find_record(&sampler, PERF_RECORD_FORK, &record))
		say_broken("no FORK");
	if (record.task.time < before || record.task.time > after)
		say_broken("time=%" PRIu64 " not within %" PRIu64 "..%" PRIu64, record.task.time,
			   before, after);
}

PROBE_MAIN
