/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Must leader and sibling watch the same thing? A group is one unit on one task and CPU.
 * Observed: a sibling for another CPU or task than the leader's is refused, although the same event
 * opens alone; one for the leader's joins.
 */
#include "probe.h"
#include "pair.h"

PROBE(TITLE("what a sibling may watch")
      SINCE("2.6.31")
      POINT(other_cpu, "a sibling for another CPU than its leader's is refused with EINVAL")
      POINT(other_task, "a sibling on another task than its leader's is refused with EINVAL")
      POINT(cpu_wide_leader, "a task's event on a CPU under a CPU-wide leader of it is EINVAL"))

TEST(other_cpu)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader = must_open(&attr, 0, -1, -1, 0), cpu = move_to_nth_cpu(0);

	ASSERT_LE(0, cpu);
	expect_refused(pm_open(&attr, 0, cpu, leader, 0), EINVAL, BROKEN,
		       "sibling for one CPU, leader for any");
	close(must_open(&attr, 0, cpu, -1, 0));
	expect_join(attr, leader);
}

TEST(other_task)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader = must_open(&attr, 0, -1, -1, 0);
	struct worker worker;

	must_start_worker(&worker, WORKER_THREAD);
	expect_refused(pm_open(&attr, worker.tid, -1, leader, 0), EINVAL, BROKEN,
		       "sibling on another thread");
	close(must_open(&attr, worker.tid, -1, -1, 0));
	expect_join(attr, leader);
}

TEST(cpu_wide_leader)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const int cpu = move_to_nth_cpu(0);
	int leader;

	ASSERT_LE(0, cpu);
	leader = must_open(&attr, -1, cpu, -1, 0);
	close(must_open(&attr, 0, cpu, -1, 0));
	close(must_open(&attr, -1, cpu, leader, 0));
	expect_refused(pm_open(&attr, 0, cpu, leader, 0), EINVAL, BROKEN,
		       "a task's event under a CPU-wide leader");
}

PROBE_MAIN
