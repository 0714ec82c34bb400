/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is an inherit event that writes nowhere gone when its descriptor is closed? Since v4.5 its copies
 * in living threads go with it; before, they kept it alive.
 * Observed: the breakpoint it occupied is free again, in this task and in a thread that inherited
 * it.
 * Linux c6e5b73242d2 ("perf: Synchronously clean up child events") (v4.5)
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("closing an inherit event that is not mapped")
      SINCE("2.6.34")
      NEEDS("breakpoint")
      POINT(unmapped_alone, "closing an inherit event that is not mapped destroys it")
      POINT(unmapped_living, "closing an inherit event that is not mapped destroys its copy in a "
	    "living thread")
      SINCE("4.5")
      COMMIT("c6e5b73242d2"))

static volatile int watched;

static int open_breakpoint(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, sizeof(watched));

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	attr.inherit = 1;
	return must_open(&attr, 0, -1, -1, 0);
}

static void want_released(int fd, pid_t tid, int free)
{
	int before = count_free_breakpoints(tid), after;

	if (free < 1 || before != free - 1)
		say_unknown("breakpoints: %d free, %d with one taken", free, before);
	must_close(fd);
	after = count_free_breakpoints(tid);
	if (after == before)
		say_no("the breakpoint stays taken after the close");
	if (after != free)
		say_broken("breakpoints: %d free before, %d after", free, after);
}

TEST(unmapped_alone)
{
	int free = count_free_breakpoints(0);

	want_released(open_breakpoint(), 0, free);
}

TEST(unmapped_living)
{
	int free = count_free_breakpoints(0), fd = open_breakpoint();
	struct worker worker;

	must_start_worker(&worker, WORKER_THREAD);
	want_released(fd, worker.tid, free);
}

PROBE_MAIN
