/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the kernel say when this process may have no more descriptors, and are closed events
 * really gone at once? The per-core design needs threads times CPUs times events of them.
 * Observed: RLIMIT_NOFILE lowered for this process; breakpoint slots as a proof of destruction.
 */
#include "probe.h"
#include <sys/resource.h>

PROBE(TITLE("descriptors run out")
      SINCE("2.6.31")
      POINT(emfile, "with RLIMIT_NOFILE used up the open is EMFILE")
      POINT(emfile_recovers, "after one close the next open succeeds")
      POINT(close_frees_slots, "closing breakpoints frees their slots for the very next open")
      SINCE("2.6.33")
      POINT(hundreds_of_events, "several hundred events on one task all count the same faults")
      FACT(opened, int, "events", "events opened under a limit of 64 descriptors")
      FACT(slots, int, "breakpoints", "breakpoints one task can have on data"))

/* Open until refused; returns the errno. */
static int open_until_refused(int *fds, int room, int *ret_count)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	for (*ret_count = 0; *ret_count < room; ++*ret_count) {
		fds[*ret_count] = pm_open(&attr, 0, -1, -1, 0);
		if (fds[*ret_count] < 0)
			return -fds[*ret_count];
	}
	return 0;
}

static void exhaust(struct __test_metadata *_metadata, int *fds, int *ret_count)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct rlimit limit;
	int error;

	close(must_open(&attr, 0, -1, -1, 0));
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 64;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		cannot_tell("setrlimit: %s", errno_name(errno));
	error = open_until_refused(fds, 100, ret_count);
	fact_int("opened", *ret_count);
	if (error != EMFILE)
		broken("after %d events: %s want=EMFILE", *ret_count, errno_name(error));
}

TEST(emfile)
{
	int fds[100], count;

	exhaust(_metadata, fds, &count);
	if (count < 1)
		broken("EMFILE before the first event");
}

TEST(emfile_recovers)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fds[100], count;

	exhaust(_metadata, fds, &count);
	close(fds[count - 1]);
	must_open(&attr, 0, -1, -1, 0);
}

static volatile uint64_t watched[64];

static int open_breakpoints(int *fds)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);
	int count;

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	for (count = 0; count < 64; count++) {
		attr.bp_addr = (uintptr_t)&watched[count];
		fds[count] = pm_open(&attr, 0, -1, -1, 0);
		if (fds[count] < 0)
			break;
	}
	return count;
}

TEST(close_frees_slots)
{
	int fds[64], first, again;

	require(REQUIRE_BREAKPOINT);
	first = open_breakpoints(fds);
	fact_int("slots", first);
	if (!first)
		say_absent("no breakpoint on data here (%s)", errno_name(fds[0]));
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < first; i++)
			close(fds[i]);
		again = open_breakpoints(fds);
		if (again != first)
			broken("round %d: %d of %d slots are free after close (%s)", round, again,
			       first, errno_name(fds[again]));
	}
}

TEST(hundreds_of_events)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fds[400], count = 0;

	attr.disabled = 0;
	for (; count < 400; count++) {
		fds[count] = pm_open(&attr, 0, -1, -1, 0);
		if (fds[count] < 0)
			break;
	}
	if (count < 200)
		must_open(&attr, 0, -1, -1, 0);		/* says why not */
	ASSERT_EQ(0, cause_faults(10));
	for (int i = 0; i < count; i++)
		if (must_count(fds[i]) < 10)
			broken("event %d of %d counted %" PRIu64 " of 10 faults", i, count,
			       must_count(fds[i]));
}

PROBE_MAIN
