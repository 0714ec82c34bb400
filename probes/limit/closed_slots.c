/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does closing an event give back at once what the event took?
 *
 * Debug registers are few, so the very next open misses one that is freed late. All of them are
 * taken and given back, ten times.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("the slots of closed events")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(free_at_once, "closing breakpoints frees their slots for the very next open")
      FACT(slots, int, "breakpoints", "breakpoints one task can have on data"))

#define MOST 64

static volatile uint64_t watched[MOST];

static struct perf_event_attr watch(int i)
{
	return attr_access(HW_BREAKPOINT_W, &watched[i], HW_BREAKPOINT_LEN_4);
}

/* Open breakpoints until one is refused; *ret_error is its errno, or 0 where none was. */
static int open_breakpoints(int *fds, int *ret_error)
{
	int count;

	*ret_error = 0;
	for (count = 0; count < MOST; count++) {
		const struct perf_event_attr attr = watch(count);

		fds[count] = pm_open(&attr, 0, -1, -1, 0);
		if (fds[count] < 0) {
			*ret_error = -fds[count];
			break;
		}
	}
	return count;
}

TEST(free_at_once)
{
	const struct perf_event_attr attr = watch(0);
	int fds[MOST], first, again, error;

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	first = open_breakpoints(fds, &error);
	fact_int("slots", first);
	if (!first && error == ENOSPC)
		say_absent("no breakpoint on data is free here (ENOSPC)");
	if (!first)
		must_open(&attr, 0, -1, -1, 0);		/* says why */
	if (error != ENOSPC)
		say_unknown("%d breakpoints, then %s: not all slots are taken", first,
			    pm_errno_name(error));
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < first; i++)
			must_close(fds[i]);
		again = open_breakpoints(fds, &error);
		if (again < first && error == ENOSPC)
			say_broken("round %d: %d of %d slots are free after close (ENOSPC)", round,
				   again, first);
		if (again != first)
			say_unknown("round %d: %d slots, first %d (%s)", round, again, first,
				    pm_errno_name(error));
	}
}

PROBE_MAIN
