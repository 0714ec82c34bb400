/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does attr.inherit mean anything to an event of all tasks? It sees new tasks anyway; a copy would
 * count them twice.
 * Observed: a child made after the event writes a variable whose breakpoint one CPU counts.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("attr.inherit of a CPU-wide event")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      ALONE("takes a slot from every task of a CPU")
      POINT(cpu_wide, "attr.inherit means nothing to an event of all tasks: each hit counts once"))

#define TIMES 12

static volatile int watched;

static int write_once(void *unused)
{
	(void)unused;
	watched = 1;
	return 0;
}

TEST(cpu_wide)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, sizeof(watched));
	struct worker child;
	uint64_t before, gain;
	int fd, cpu = move_to_nth_cpu(0);

	require(REQUIRE_PERF | REQUIRE_PERFMON | REQUIRE_BREAKPOINT);
	ASSERT_LE(0, cpu);
	attr.inherit = 1;
	attr.disabled = 0;
	fd = must_open(&attr, -1, cpu, -1, 0);
	must_start_worker(&child, WORKER_CHILD);
	before = must_count(fd);
	for (int i = 0; i < TIMES; i++)
		ASSERT_EQ(0, worker_do(&child, write_once, NULL));
	gain = must_count(fd) - before;
	if (gain != TIMES)
		say_broken("gained=%" PRIu64 " want=%d", gain, TIMES);
	worker_stop(&child);
}

PROBE_MAIN
