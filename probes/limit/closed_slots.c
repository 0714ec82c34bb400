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
#define ROUNDS 10

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

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		must_close(fds[i]);
}

/* Take `want` breakpoints again, which somebody else may have for a while. */
static void must_retake(int *fds, int want)
{
	const uint64_t end = now_ns() + 1000000000ull;
	int error, count;

	while ((count = open_breakpoints(fds, &error)) != want) {
		close_all(fds, count);
		if (now_ns() > end)
			say_unknown("%d slots, first %d (%s): somebody else has some", count, want,
				    pm_errno_name(error));
	}
}

/* Whether fewer are free right after all were closed, which this task has in the end. */
static bool is_late(int *fds, int first)
{
	int again, error;

	close_all(fds, first);
	again = open_breakpoints(fds, &error);
	if (again > first || error != ENOSPC)
		say_unknown("%d slots, first %d (%s)", again, first, pm_errno_name(error));
	if (again == first)
		return false;
	close_all(fds, again);
	must_retake(fds, first);
	return true;
}

TEST(free_at_once)
{
	const struct perf_event_attr attr = watch(0);
	int fds[MOST], first, error, late = 0;

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	first = open_breakpoints(fds, &error);
	fact_int("slots", first);
	if (!first) {
		close(must_open(&attr, 0, -1, -1, 0));		/* says why */
		say_unknown("all breakpoints were somebody else's, and are no more");
	}
	if (error != ENOSPC)
		say_unknown("%d breakpoints, then %s: not all slots are taken", first,
			    pm_errno_name(error));
	for (int round = 0; round < ROUNDS; round++)
		late += is_late(fds, first);
	/* A kernel that frees late does so each time; somebody else takes one now and then. */
	if (late == ROUNDS)
		say_broken("not all of %d slots are free after close (ENOSPC), %d times of %d",
			   first, late, ROUNDS);
	if (late)
		say_unknown("not all of %d slots were free in %d of %d rounds: somebody else's",
			    first, late, ROUNDS);
}

PROBE_MAIN
