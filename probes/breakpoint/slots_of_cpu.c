/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who shares the debug registers with a breakpoint for a whole CPU? Every task does: such a
 * breakpoint takes one slot from each, and does not fit where one task uses all of its slots.
 * Observed: opens until ENOSPC beside such a breakpoint, and one more when this task is full.
 */
#include "probe.h"
#include "breakpoint.h"
#include "write_slots.h"

PROBE(TITLE("breakpoint slots of a CPU")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      ALONE("takes a slot from every task of a CPU")
      POINT(takes, "a breakpoint for all tasks of a CPU leaves a task one slot less")
      POINT(full_task, "no breakpoint for all tasks of a CPU fits beside a task whose slots are "
	    "all taken"))

static volatile int64_t one_more;
static struct slots slots;

static struct perf_event_attr watch_one_more(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &one_more, 4);

	attr.disabled = 0;
	return attr;
}

static void must_fill(pid_t tid)
{
	struct perf_event_attr attr = watch_one_more();

	close(must_open(&attr, tid, -1, -1, 0));
	slots_fill(&slots, tid);
}

/* Other processes that have all slots of a task in use are in the way; they will not last. */
static int open_wide(void)
{
	struct perf_event_attr attr = watch_one_more();
	const uint64_t end = now_ns() + 200000000;
	int fd, cpu = move_to_nth_cpu(0);

	while ((fd = pm_open(&attr, -1, cpu, -1, 0)) == -ENOSPC && now_ns() < end)
		sched_yield();
	return fd >= 0 ? fd : must_open(&attr, -1, cpu, -1, 0);
}

TEST(takes)
{
	int before;

	close(open_wide());
	must_fill(0);
	before = slots.count;
	slots_close(&slots);
	open_wide();
	must_fill(0);
	if (slots.count != before - 1 || slots.error != ENOSPC)
		say_broken("slots=%d want=%d, errno=%s want=ENOSPC", slots.count, before - 1,
			   pm_errno_name(slots.error));
}

TEST(full_task)
{
	struct perf_event_attr attr = watch_one_more();
	int cpu = move_to_nth_cpu(0);

	close(open_wide());
	must_fill(0);
	if (slots.error != ENOSPC)
		say_unknown("not full: %s", pm_errno_name(slots.error));
	expect_refused(pm_open(&attr, -1, cpu, -1, 0), ENOSPC, BROKEN, "one more for the CPU");
}

PROBE_MAIN
