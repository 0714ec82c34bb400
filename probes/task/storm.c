/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does every one of hundreds of short-lived tasks get through, and is every one counted? Inherited
 * copies leaked in v2.6.34 to v2.6.39.
 * Observed: every child of a storm ends, and each of its page faults is in the sum.
 */
#include "probe.h"

PROBE(TITLE("storms of inheriting tasks")
      SINCE("2.6.31")
      POINT(forks, "no fork fails, and no fault of 100 children is missing")
      POINT(threads, "no clone fails, and no fault of 200 threads is missing")
      FACT(fork_us, int, "us", "mean time of fork, 10 faults, exit and wait, inheriting"))

#define FAULTS 10

static int open_counter(bool inherit)
{
	const struct perf_event_attr attr = attr_counter(inherit);

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
static void want_share(int sum, int own, int tasks)
{
	const uint64_t all = must_count(sum), mine = must_count(own);

	if (all < mine + (uint64_t)tasks * FAULTS)
		say_broken("sum=%" PRIu64 " own=%" PRIu64 ", want a share of %d and more", all,
			   mine, tasks * FAULTS);
}

TEST(forks)
{
	int sum = open_counter(true), own = open_counter(false);
	const uint64_t start = now_ns();

	for (int i = 0; i < 100; i++) {
		pid_t child = start_child(fault, NULL);

		if (child < 0)
			say_broken("fork %d: %s", i, pm_errno_name(child));
		ASSERT_EQ(0, wait_child(child));
	}
	fact_int("fork_us", (now_ns() - start) / 100 / 1000);
	want_share(sum, own, 100);
}

TEST(threads)
{
	int sum = open_counter(true), own = open_counter(false);

	for (int i = 0; i < 50; i++) {
		pthread_t threads[4];

		for (int j = 0; j < 4; j++)
			if (pthread_create(&threads[j], NULL, fault_in_thread, NULL))
				say_broken("thread %d could not be made", 4 * i + j);
		for (int j = 0; j < 4; j++)
			ASSERT_EQ(0, pthread_join(threads[j], NULL));
	}
	want_share(sum, own, 200);
}

PROBE_MAIN
