/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of the events of a task that has ended? A debugger that keeps them open must not
 * keep slots from others indefinitely.
 * Observed: a child with all its slots taken leaves no room for a breakpoint on all tasks of a CPU;
 * it ends, its events are closed, and there is room again.
 */
#include "probe.h"
#include "breakpoint.h"
#include "write_slots.h"

PROBE(TITLE("slots of a task that has ended")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      ALONE("takes a slot from every task of a CPU")
      POINT(gives_back, "closing the events of a task that has ended gives its slots back")
      FACT(holds, bool, "-", "an ended task keeps slots until its events close"))

static volatile int64_t cell;
static struct slots others;

static struct perf_event_attr watch_cell(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.disabled = 0;
	return attr;
}

/* Whether a breakpoint for all tasks of a CPU fits: only then is no task at its limit there. */
static bool whole_cpu_is_free(int cpu)
{
	struct perf_event_attr attr = watch_cell();
	int fd = pm_open(&attr, -1, cpu, -1, 0);

	if (fd >= 0)
		close(fd);
	if (fd < 0 && fd != -ENOSPC)	/* policy looks at it only when the slot is there */
		close(must_open(&attr, -1, cpu, -1, 0));
	return fd >= 0;
}

TEST(gives_back)
{
	const int cpu = move_to_nth_cpu(0);
	struct perf_event_attr attr = watch_cell();
	struct worker worker;
	uint64_t end;

	close(must_open(&attr, -1, cpu, -1, 0));
	must_start_worker(&worker, WORKER_CHILD);
	slots_fill(&others, worker.tid);
	if (whole_cpu_is_free(cpu))
		say_broken("a breakpoint for all tasks fits beside a task that has none left");
	ASSERT_EQ(0, worker_stop(&worker));
	fact_bool("holds", !whole_cpu_is_free(cpu));
	slots_close(&others);
	end = now_ns() + 2000000000;
	while (!whole_cpu_is_free(cpu)) /* others may use breakpoints, too */
		if (now_ns() > end)
			say_broken("slots are still taken after the task and its events are gone");
}

PROBE_MAIN
