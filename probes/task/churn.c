/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the sum of an inherit event ever fall while threads come and go? A count could be missed
 * between the living copy of an ending thread and the folded sum, and be there again a moment
 * later. Or it is seen in both, and the sum is too high for a moment: before ef54c1a476ae ("perf:
 * Rework perf_event_exit_event()") (v5.13) an ending thread is folded into the sum first and taken
 * off the list of copies later, and only the latter keeps readers out.
 * Observed: the sum is read as fast as can be while three threads at a time are born and die, each
 * with the same page faults, until it falls or for a number of rounds. The evidence is the fall
 * beside what one thread adds: counting a thread twice makes a fall of that, less what others added
 * meanwhile.
 */
#include "probe.h"

PROBE(TITLE("a sum that never falls")
      SINCE("2.6.31")
      POINT(monotone_in_churn, "the sum never falls while threads come and go"))

#define FAULTS 20
#define ROUNDS 120

static void *fault_once(void *unused)
{
	(void)unused;
	cause_faults(FAULTS);
	return NULL;
}

/* Read the sum as fast as can be. False once it was less than the time before. */
static bool read_sums(int fd, uint64_t *last, uint64_t *now)
{
	for (int reads = 0; reads < 30; reads++) {
		*now = must_count(fd);
		if (*now < *last)
			return false;
		*last = *now;
	}
	return true;
}

/* What one thread alone adds to the sum, its start and end included. */
static uint64_t faults_of_one(int fd)
{
	uint64_t before;

	ASSERT_EQ(0, run_in_thread(fault_once, NULL));
	before = must_count(fd);
	ASSERT_EQ(0, run_in_thread(fault_once, NULL));
	return must_count(fd) - before;
}

TEST(monotone_in_churn)
{
	const struct perf_event_attr attr = attr_counter(true);
	int fd = must_open(&attr, 0, -1, -1, 0);
	const uint64_t one = faults_of_one(fd);
	uint64_t last = 0, now;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_t threads[3];
		bool grows;

		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, fault_once, NULL));
		grows = read_sums(fd, &last, &now);
		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_join(threads[i], NULL));
		if (!grows)
			say_broken("fell in round %d: %" PRIu64 " after %" PRIu64
				   " (one thread adds %" PRIu64 ")",
				   round, now, last, one);
	}
	last = must_count(fd);
	if (last < ROUNDS * 3 * FAULTS)
		say_broken("sum=%" PRIu64 " want at least %d", last, ROUNDS * 3 * FAULTS);
}

PROBE_MAIN
