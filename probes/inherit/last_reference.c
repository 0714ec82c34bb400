/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What keeps an event alive: its descriptor, its mapping, either? A tracer must know what to
 * release to end the event, and what to keep to keep it.
 * Observed: the breakpoint that an event occupies is free again when the last of descriptor and
 * mapping has gone, in the task and in a thread that inherited it.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("the last reference to an event")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(mapping_keeps, "a mapping keeps an inherit event after close")
      POINT(last_munmap_destroys, "close and then munmap destroy an inherit event")
      POINT(copies_destroyed, "close and then munmap destroy the copy of an inherit event in a "
	    "living thread")
      SINCE("4.5"))

static volatile int watched;

/* A breakpoint event with a ring; inherit events with a ring are for one CPU. */
static struct sampler take_breakpoint(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, sizeof(watched));
	int cpu = move_to_nth_cpu(0);

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	ASSERT_LE(0, cpu);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.inherit = 1;
	attr.disabled = 0;
	return must_sampler(&attr, 0, cpu, 1);
}

TEST(mapping_keeps)
{
	int free = count_free_breakpoints(0), after, samples;
	struct sampler sampler = take_breakpoint();

	ASSERT_EQ(free - 1, count_free_breakpoints(0));
	close(sampler.fd);
	after = count_free_breakpoints(0);
	watched = 1;
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (after != free - 1 || samples != 1)
		say_broken("breakpoints free: %d want=%d, samples=%d want=1", after, free - 1,
			   samples);
}

TEST(last_munmap_destroys)
{
	int free = count_free_breakpoints(0), after;
	struct sampler sampler = take_breakpoint();

	ASSERT_EQ(free - 1, count_free_breakpoints(0));
	close(sampler.fd);
	pm_ring_close(&sampler.ring);
	after = count_free_breakpoints(0);
	if (after != free)
		say_broken("breakpoints free: %d want=%d", after, free);
}

TEST(copies_destroyed)
{
	int free = count_free_breakpoints(0), after;
	struct sampler sampler = take_breakpoint();
	struct worker worker;

	must_start_worker(&worker, WORKER_THREAD);
	ASSERT_EQ(free - 1, count_free_breakpoints(worker.tid));
	close(sampler.fd);
	pm_ring_close(&sampler.ring);
	after = count_free_breakpoints(worker.tid);
	if (after == free - 1)
		say_no("the copy in a living thread stays after close and munmap");
	if (after != free)
		say_broken("breakpoints free: %d want=%d", after, free);
}

PROBE_MAIN
