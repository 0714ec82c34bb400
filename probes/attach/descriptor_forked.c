/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a forked child keep its parent's event? Descriptors are inherited over fork(2), and daemons
 * open events for workers that way. Observed: the parent's count, read by the child.
 */
#include "probe.h"

PROBE(TITLE("a descriptor inherited over fork")
      SINCE("2.6.31")
      POINT(reads, "a forked child reads its parent's event")
      POINT(resets, "a forked child sets its parent's event back to 0, for both of them"))

static int inherited_fd;

static int read_inherited(void *unused)
{
	uint64_t count = 0;
	int error = pm_read_count(inherited_fd, &count);

	(void)unused;
	return error < 0 ? error : (int)count;
}

TEST(reads)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker child;
	int seen;

	inherited_fd = must_open(&attr, 0, -1, -1, 0);
	must_start_worker(&child, WORKER_CHILD);
	ASSERT_EQ(0, cause_faults(16));
	must_ioctl(inherited_fd, PERF_EVENT_IOC_DISABLE, 0);
	seen = worker_do(&child, read_inherited, NULL);
	if (seen < 16)
		say_broken("counted=%d want>=16", seen);
	expect_count(inherited_fd, seen);
}

static int reset_inherited(void *unused)
{
	(void)unused;
	return pm_ioctl(inherited_fd, PERF_EVENT_IOC_RESET, 0);
}

TEST(resets)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker child;
	int seen;

	inherited_fd = must_open(&attr, 0, -1, -1, 0);
	must_start_worker(&child, WORKER_CHILD);
	ASSERT_EQ(0, cause_faults(16));
	must_ioctl(inherited_fd, PERF_EVENT_IOC_DISABLE, 0);
	if (must_count(inherited_fd) < 16)
		say_unknown("there is nothing to set back");
	seen = worker_do(&child, reset_inherited, NULL);
	if (seen)
		say_broken("RESET by the child: %s", pm_errno_name(seen));
	expect_count(inherited_fd, 0);
	seen = worker_do(&child, read_inherited, NULL);
	if (seen)
		say_broken("the child reads %d after its RESET", seen);
}

PROBE_MAIN
