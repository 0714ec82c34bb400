/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which types of event can be inherited? Each type is implemented by its own part of the kernel.
 * Observed: a forked child does exactly what the event counts, and the parent's counter gains it.
 */
#include "probe.h"
#include "core_pmu.h"
#include "breakpoint.h"
#include "tracepoint.h"

PROBE(TITLE("inheritance by type of event")
      SINCE("2.6.33")
      POINT(faults, "a child's page faults are counted")
      POINT(task_clock, "a child's time on a CPU is counted")
      POINT(breakpoint, "a child's writes to a watched variable are counted, exactly")
      NEEDS("breakpoint")
      POINT(tracepoint, "a child's hits of a tracepoint are counted, exactly")
      NEEDS("tracefs")
      POINT(hardware, "a child's instructions are counted")
      NEEDS("pmu"))

#define TIMES 12

static volatile int watched;

static int write_watched(void *unused)
{
	(void)unused;
	for (int i = 0; i < TIMES; i++)
		watched = i;
	return 0;
}

static int fault(void *unused)
{
	(void)unused;
	return cause_faults(TIMES);
}

/* kill(0) of a process that cannot be: the system call is all that is wanted. */
static int call_kill(void *unused)
{
	(void)unused;
	for (int i = 0; i < TIMES; i++)
		kill(0x7ffffff0, 0);
	return 0;
}

/* What the counter gains while a child, made after it, calls a function. */
static uint64_t gain_of(struct perf_event_attr attr, int (*function)(void *))
{
	struct worker child;
	uint64_t before, gain = 0;
	int fd;

	attr.inherit = 1;
	attr.disabled = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	must_start_worker(&child, WORKER_CHILD);
	/* Its first run is a rehearsal; a clock may tick late, so more runs are granted. */
	ASSERT_EQ(0, worker_do(&child, function, NULL));
	before = must_count(fd);
	for (int tries = 0; tries < 20 && !gain; tries++) {
		ASSERT_EQ(0, worker_do(&child, function, NULL));
		gain = must_count(fd) - before;
	}
	worker_stop(&child);
	return gain;
}

static void want(uint64_t gain)
{
	if (gain != TIMES)
		say_broken("gained=%" PRIu64 " want=%d", gain, TIMES);
}

static int spin(void *unused)
{
	spin_ns(2000000);
	return 0;
}

TEST(faults)
{
	want(gain_of(attr_software(PERF_COUNT_SW_PAGE_FAULTS), fault));
}

TEST(task_clock)
{
	uint64_t gain = gain_of(attr_software(PERF_COUNT_SW_TASK_CLOCK), spin);

	if (!gain)
		say_broken("gained=0 while the child ran");
}

TEST(breakpoint)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, sizeof(watched));

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	want(gain_of(attr, write_watched));
}

TEST(tracepoint)
{
	want(gain_of(must_call_tracepoint("sys_enter_kill"), call_kill));
}

TEST(hardware)
{
	const struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);

	must_have_counters();
	if (gain_of(attr, spin))
		return;
	must_have_run();
	say_broken("gained=0 while the child ran");
}

PROBE_MAIN
