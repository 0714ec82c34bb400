/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What keeps an event alive: its descriptor, its mapping, either? A tracer must know what to drop
 * to be rid of it, and what not to drop to keep it.
 * Observed: counts through the descriptor after munmap; the breakpoint an event occupies is free
 * again when the last of descriptor and mapping has gone.
 */
#include "probe.h"

PROBE(TITLE("events after munmap")
      SINCE("2.6.33")
      POINT(descriptor_keeps, "after munmap the event counts on, and can be read")
      POINT(can_map_again, "after munmap it can be mapped again, and samples arrive")
      POINT(mapping_keeps, "after close the mapping keeps the event")
      NEEDS("breakpoint")
      POINT(last_munmap_destroys, "close and then munmap destroy it")
      NEEDS("breakpoint")
      POINT(copies_destroyed, "together with the copy in a living thread")
      SINCE("4.5")
      NEEDS("breakpoint"))

#define FAULTS 15

static volatile int watched;

static struct perf_event_attr sampling(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	return attr;
}

TEST(descriptor_keeps)
{
	const struct perf_event_attr attr = sampling();
	struct watch watch = must_watch(&attr, 0, -1, 4);
	uint64_t gain;

	pm_ring_close(&watch.ring);
	gain = gain_of_faults(watch.fd, NULL, FAULTS);
	if (gain != FAULTS)
		broken("counted=%" PRIu64 " want=%d after munmap", gain, FAULTS);
}

TEST(can_map_again)
{
	const struct perf_event_attr attr = sampling();
	struct watch watch = must_watch(&attr, 0, -1, 4);
	struct pm_ring ring;
	int samples;

	pm_ring_close(&watch.ring);
	must_map(watch.fd, 8, &ring);
	touch_ring(&ring);
	ASSERT_EQ(0, cause_faults(1));
	count_records(&ring, PERF_RECORD_SAMPLE);
	ASSERT_EQ(0, cause_faults(FAULTS));
	samples = count_records(&ring, PERF_RECORD_SAMPLE);
	if (samples != FAULTS)
		broken("samples=%d want=%d in the second mapping", samples, FAULTS);
}

/* A breakpoint event with a ring; inherit events with a ring are for one CPU. */
static struct watch take_breakpoint(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);
	int cpu = move_to_nth_cpu(0);

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	ASSERT_LE(0, cpu);
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.inherit = 1;
	attr.disabled = 0;
	return must_watch(&attr, 0, cpu, 1);
}

TEST(mapping_keeps)
{
	int free = free_breakpoints(0), after, samples;
	struct watch watch = take_breakpoint(_metadata);

	ASSERT_EQ(free - 1, free_breakpoints(0));
	close(watch.fd);
	after = free_breakpoints(0);
	watched = 1;
	samples = count_records(&watch.ring, PERF_RECORD_SAMPLE);
	if (after != free - 1 || samples != 1)
		broken("breakpoints free: %d want=%d, samples=%d want=1", after, free - 1, samples);
}

TEST(last_munmap_destroys)
{
	int free = free_breakpoints(0), after;
	struct watch watch = take_breakpoint(_metadata);

	ASSERT_EQ(free - 1, free_breakpoints(0));
	close(watch.fd);
	pm_ring_close(&watch.ring);
	after = free_breakpoints(0);
	if (after != free)
		broken("breakpoints free: %d want=%d", after, free);
}

TEST(copies_destroyed)
{
	int free = free_breakpoints(0), after;
	struct watch watch = take_breakpoint(_metadata);
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	ASSERT_EQ(free - 1, free_breakpoints(worker.tid));
	close(watch.fd);
	pm_ring_close(&watch.ring);
	after = free_breakpoints(worker.tid);
	if (after == free - 1)
		say_no("the copy in a living thread stays after close and munmap");
	if (after != free)
		broken("breakpoints free: %d want=%d", after, free);
}

PROBE_MAIN
