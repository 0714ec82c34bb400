/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does fork(2) do when the kernel finds no memory for an inherited event? Either the fork
 * fails, and the program notices, or the child lives without the event, and the sum is wrong.
 * Observed: with the kernel's own fault injection, each allocation of a fork fails in turn; every
 * child that is born must be counted.
 */
#include "probe.h"

PROBE(TITLE("fork without memory for inherited events")
      SINCE("2.6.31")
      NEEDS("root")
      POINT(no_silent_loss, "no child is born without the event it should inherit when an "
	    "allocation fails"))

#define FAULTS 64

/* The nth allocation of this thread will fail; 0 asks for none. */
static int refuse_allocation(int fd, int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", nth);

	return pwrite(fd, text, length, 0) == length ? 0 : -errno;
}

static int fault(void *unused)
{
	(void)unused;
	return cause_faults(FAULTS);
}

TEST(no_silent_loss)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int injection, fd, failed = 0;
	uint64_t before;

	require(REQUIRE_PERF);
	injection = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (injection < 0 && errno == ENOENT)
		say_absent("no fault injection in this kernel (/proc/thread-self/fail-nth)");
	if (injection < 0)
		say_blocked("fault injection is root's (%s)", pm_errno_name(errno));
	attr.inherit = 1;
	attr.disabled = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	for (int nth = 1; nth <= 150; nth++) {
		pid_t child;

		before = must_count(fd);
		ASSERT_EQ(0, refuse_allocation(injection, nth));
		child = start_child(fault, NULL);
		refuse_allocation(injection, 0);
		failed += child < 0;
		if (child > 0 && wait_child(child) == 0 && must_count(fd) - before < FAULTS)
			say_broken("allocation %d refused: a child was born without the event",
				   nth);
	}
	if (!failed)
		say_absent("fault injection is set up to spare fork (failslab, fail_page_alloc)");
}

PROBE_MAIN
