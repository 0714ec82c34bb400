/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When is an event really destroyed? A slot that comes free proves it, where every other event
 * only falls silent. Observed: all slots are taken, one event loses its descriptor, its mapping,
 * its task; then one more open tells whether it is gone.
 */
#include "probe.h"

PROBE(TITLE("the end of an event, proven by its slot")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(closed, "closing the only descriptor of an unmapped event destroys it")
      POINT(duplicate_keeps, "a duplicate of the descriptor keeps the event")
      POINT(mapping_keeps, "a mapping keeps the event after its descriptor is closed")
      POINT(unmapped, "unmapping after close destroys it")
      POINT(ended_target, "closing the events of a task that has ended gives its slots back")
      POINT(disabled_keeps, "a disabled event still has its slot")
      FACT(ended_target_holds, bool, "-", "an ended task keeps slots until its events close"))

#define MOST 64

static volatile int64_t cells[MOST + 1] __attribute__((aligned(8)));

static struct perf_event_attr watch_cell(int index)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cells[index], 4);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.disabled = 0;
	return attr;
}

/* An event of ours, and all other slots of this thread filled. */
static int open_and_fill(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = watch_cell(0);
	int error = 0, fd = must_open(&attr, 0, -1, -1, 0);

	for (int i = 1; i < MOST && error >= 0; i++) {
		attr = watch_cell(i);
		error = pm_open(&attr, 0, -1, -1, 0);
	}
	if (error != -ENOSPC)
		cannot_tell("the slots cannot be filled: %s", errno_name(error < 0 ? error : 0));
	return fd;
}

static bool slot_is_free(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = watch_cell(MOST);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0 && fd != -ENOSPC)
		cannot_tell("one more breakpoint: %s", errno_name(fd));
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void must_be(struct __test_metadata *_metadata, bool free, const char *when)
{
	if (slot_is_free(_metadata) != free)
		broken("the slot is %s %s", free ? "taken" : "free", when);
}

TEST(closed)
{
	int fd = open_and_fill(_metadata);

	must_be(_metadata, false, "while all are open");
	ASSERT_EQ(0, close(fd));
	must_be(_metadata, true, "after close");
}

TEST(duplicate_keeps)
{
	int fd = open_and_fill(_metadata), copy = dup(fd);

	close(fd);
	must_be(_metadata, false, "although a duplicate is open");
	close(copy);
	must_be(_metadata, true, "after both are closed");
}

TEST(mapping_keeps)
{
	int fd = open_and_fill(_metadata);
	struct pm_ring ring;

	must_map(fd, 1, &ring);
	close(fd);
	must_be(_metadata, false, "although the ring is mapped");
	cells[0] = 1;
	if (count_records(&ring, PERF_RECORD_SAMPLE) != 1)
		broken("a closed and mapped event no longer samples");
}

TEST(unmapped)
{
	int fd = open_and_fill(_metadata);
	struct pm_ring ring;

	must_map(fd, 1, &ring);
	close(fd);
	must_be(_metadata, false, "although the ring is mapped");
	pm_ring_close(&ring);
	must_be(_metadata, true, "after munmap");
}

TEST(disabled_keeps)
{
	int fd = open_and_fill(_metadata);

	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	must_be(_metadata, false, "although the event is only disabled");
	close(fd);
	must_be(_metadata, true, "after close");
}

/* Whether a breakpoint for all tasks of a CPU fits: only then is no task at its limit there. */
static bool whole_cpu_is_free(struct __test_metadata *_metadata, int cpu)
{
	struct perf_event_attr attr = watch_cell(0);
	int fd = pm_open(&attr, -1, cpu, -1, 0);

	if (fd >= 0)
		close(fd);
	if (fd < 0 && fd != -ENOSPC)	/* policy looks at it only when the slot is there */
		close(must_open(&attr, -1, cpu, -1, 0));
	return fd >= 0;
}

TEST(ended_target)
{
	const int cpu = move_to_nth_cpu(0);
	const uint64_t end = now_ns() + 200000000;
	struct perf_event_attr attr = watch_cell(0);
	int fds[MOST], count = 0;
	struct worker worker;

	close(must_open(&attr, -1, cpu, -1, 0));
	must_start(&worker, WORKER_CHILD);
	while (count < MOST && (fds[count] = pm_open(&attr, worker.tid, -1, -1, 0)) >= 0)
		count++;
	if (whole_cpu_is_free(_metadata, cpu))
		broken("a breakpoint for all tasks fits beside a task that has none left");
	ASSERT_EQ(0, worker_stop(&worker));
	fact_bool("ended_target_holds", !whole_cpu_is_free(_metadata, cpu));
	while (count > 0)
		close(fds[--count]);
	while (!whole_cpu_is_free(_metadata, cpu))	/* others may use breakpoints, too */
		if (now_ns() > end)
			broken("slots are still taken after the task and its events are gone");
}

PROBE_MAIN
