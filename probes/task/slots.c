/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do ended children leave something taken behind in the kernel? What an inherited copy occupies has
 * to be given back at the task's end, or a long-lived program runs out of it.
 * Observed: the breakpoint that each of 50 children took along is free again at the end. Others
 * take and free breakpoints, too: what is lost in each of several rounds is lost to the children.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("what ended children give back")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(no_slot_leaked, "breakpoints inherited by 50 children are free afterwards"))

#define ROUNDS 5

static volatile int watched;

static int write_watched(void *unused)
{
	(void)unused;
	watched = 1;
	return 0;
}

/* Fifty children take a breakpoint along, and end. */
static void take_along(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, sizeof(watched));
	int fd;

	attr.inherit = 1;
	attr.disabled = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = start_child(write_watched, NULL);

		if (child < 0)
			say_broken("fork %d: %s", i, pm_errno_name(child));
		ASSERT_EQ(0, wait_child(child));
	}
	if (must_count(fd) != 50)
		say_broken("writes of 50 children: %" PRIu64, must_count(fd));
	must_close(fd);
}

/* A machine has 64 at most, and a round that leaks takes one or more of them. */
TEST(no_slot_leaked)
{
	const int free = count_free_breakpoints(0);
	int before = free, after = free;

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	if (!free) {
		take_along();
		say_unknown("none can be counted as free, and one is taken");
	}
	for (int round = 0; round < ROUNDS && before; round++) {
		take_along();
		after = count_free_breakpoints(0);
		if (after >= before)
			return;
		before = after;
	}
	for (int i = 0; i < 100 && !before; i++) {	/* somebody else's are given back */
		spin_ns(10000000);
		before = count_free_breakpoints(0);
	}
	if (before > after)
		say_unknown("others take and free breakpoints: %d free, then %d, then %d", free,
			    after, before);
	say_broken("breakpoints free: %d before, %d after", free, after);
}

PROBE_MAIN
