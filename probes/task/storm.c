/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do hundreds of short-lived tasks leave anything behind in the kernel? Inherited copies leaked in
 * v2.6.34 to v2.6.39, and a missing count is the first sign of a copy that is not taken apart.
 * Observed: every child of a storm ends, each fault is in the sum, and the breakpoint that every
 * child took along is free again at the end.
 */
#include "probe.h"

PROBE(TITLE("storms of inheriting tasks")
      SINCE("2.6.31")
      POINT(forks, "no fork fails, and no fault of 100 children is missing")
      POINT(threads, "no clone fails, and no fault of 200 threads is missing")
      POINT(no_slot_leaked, "breakpoints inherited by 50 children are free afterwards")
      NEEDS("breakpoint")
      FACT(fork_us, int, "us", "mean time of fork, 10 faults, exit and wait, inheriting"))

#define FAULTS 10

static int open_inherit(struct __test_metadata *_metadata, bool inherit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.inherit = inherit;
	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static int fault(void *unused)
{
	(void)unused;
	return cause_faults(FAULTS);
}

static void *fault_in_thread(void *unused)
{
	(void)unused;
	cause_faults(FAULTS);
	return NULL;
}

/* An event that is not inherited stands beside: the difference is the children's share. */
static void want_share(struct __test_metadata *_metadata, int sum, int own, int tasks)
{
	const uint64_t all = must_count(sum), mine = must_count(own);

	if (all < mine + (uint64_t)tasks * FAULTS)
		broken("sum=%" PRIu64 " own=%" PRIu64 ", want a share of %d and more", all, mine,
		       tasks * FAULTS);
}

TEST(forks)
{
	int sum = open_inherit(_metadata, true), own = open_inherit(_metadata, false);
	const uint64_t start = now_ns();

	for (int i = 0; i < 100; i++) {
		pid_t child = start_child(fault, NULL);

		if (child < 0)
			broken("fork %d: %s", i, errno_name(child));
		ASSERT_EQ(0, wait_child(child));
	}
	fact_int("fork_us", (now_ns() - start) / 100 / 1000);
	want_share(_metadata, sum, own, 100);
}

TEST(threads)
{
	int sum = open_inherit(_metadata, true), own = open_inherit(_metadata, false);

	for (int i = 0; i < 50; i++) {
		pthread_t threads[4];

		for (int j = 0; j < 4; j++)
			if (pthread_create(&threads[j], NULL, fault_in_thread, NULL))
				broken("thread %d could not be made", 4 * i + j);
		for (int j = 0; j < 4; j++)
			ASSERT_EQ(0, pthread_join(threads[j], NULL));
	}
	want_share(_metadata, sum, own, 200);
}

TEST(no_slot_leaked)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);
	static volatile int watched;
	int free = free_breakpoints(0), fd, after;

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = start_child(fault, NULL);

		if (child < 0)
			broken("fork %d: %s", i, errno_name(child));
		ASSERT_EQ(0, wait_child(child));
	}
	close(fd);
	after = free_breakpoints(0);
	if (after != free)
		broken("breakpoints free: %d before, %d after", free, after);
}

PROBE_MAIN
