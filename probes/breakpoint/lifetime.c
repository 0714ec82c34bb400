/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When is an event really destroyed? A program that forgets to unmap a ring keeps counters busy
 * that it can no longer reach. A breakpoint slot that comes free proves the end of its event, where
 * any other event only falls silent.
 * Observed: all slots are taken, one event loses its descriptor or its mapping, and one more open
 * tells whether it is gone.
 */
#include "probe.h"
#include "breakpoint.h"
#include "write_slots.h"

PROBE(TITLE("the end of an event, proven by its breakpoint slot")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(closed, "closing the only descriptor of an unmapped event destroys it")
      POINT(duplicate_keeps, "a duplicate of the descriptor keeps the event")
      POINT(mapping_keeps, "a mapping keeps the event after its descriptor is closed")
      POINT(unmapped, "after close, unmapping the last mapping destroys the event")
      POINT(disabled_keeps, "a disabled event keeps its breakpoint slot"))

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

/* An event of ours, and all other slots of this thread filled. */
static int open_and_fill(void)
{
	struct perf_event_attr attr = watch_cell();
	int fd = must_open(&attr, 0, -1, -1, 0);

	slots_fill(&others, 0);
	if (others.error != ENOSPC)
		say_unknown("the slots cannot be filled: %s", pm_errno_name(others.error));
	return fd;
}

static void must_be(bool free, const char *when)
{
	if ((count_free_breakpoints(0) > 0) != free)
		say_broken("the slot is %s %s", free ? "taken" : "free", when);
}

TEST(closed)
{
	int fd = open_and_fill();

	must_be(false, "while all are open");
	ASSERT_EQ(0, close(fd));
	must_be(true, "after close");
}

TEST(duplicate_keeps)
{
	int fd = open_and_fill(), copy = dup(fd);

	close(fd);
	must_be(false, "although a duplicate is open");
	close(copy);
	must_be(true, "after both are closed");
}

TEST(mapping_keeps)
{
	int fd = open_and_fill();
	struct pm_ring ring;

	must_map(fd, 1, &ring);
	close(fd);
	must_be(false, "although the ring is mapped");
	cell = 1;
	if (count_records(&ring, PERF_RECORD_SAMPLE) != 1)
		say_broken("a closed and mapped event no longer samples");
}

TEST(unmapped)
{
	int fd = open_and_fill();
	struct pm_ring ring;

	must_map(fd, 1, &ring);
	close(fd);
	must_be(false, "although the ring is mapped");
	pm_ring_close(&ring);
	must_be(true, "after munmap");
}

TEST(disabled_keeps)
{
	int fd = open_and_fill();

	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	must_be(false, "although the event is only disabled");
	close(fd);
	must_be(true, "after close");
}

PROBE_MAIN
