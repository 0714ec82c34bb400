/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the sum of an inherit event ever fall while threads come and go? A reader could miss the
 * count of an ending thread between its own copy and the folded sum, and see it again a moment
 * later. Or it sees the count in both, and the sum is too high for a moment: before ef54c1a476ae
 * ("perf: Rework perf_event_exit_event()") (v5.13) an ending thread is folded into the sum first
 * and taken off the list of copies later, and only the list is locked against readers.
 * Observed: the sum is read as fast as can be while three threads at a time start and end, each
 * with the same page faults, until it falls, for a number of rounds or some seconds. Threads that
 * sit still have copies of the event, too: they make each read long, so that others end during it,
 * and wait for the list that the reader holds. The evidence is the fall beside what one thread
 * adds: counting a thread twice makes a fall of that, less what others added meanwhile. Only rounds
 * in which the sum grew between two reads had threads at work while it was read; without a few of
 * them nothing was seen.
 */
#include "probe.h"

PROBE(TITLE("a sum that never falls")
      SINCE("2.6.31")
      POINT(monotone_in_churn, "the sum of an inherit event never falls while threads come and go"))

#define FAULTS 20
#define ROUNDS 120
#define ENOUGH 20			/* rounds, and a quarter as many overlaps */
#define SECONDS 5
#define IDLE 40

static void *fault_once(void *unused)
{
	(void)unused;
	cause_faults(FAULTS);
	return NULL;
}

/* Read the sum as fast as can be. False once it was less than the time before. The reader itself
 * causes no fault here, so what the sum grows by between two reads is the threads'. */
static bool read_sums(int fd, uint64_t *last, uint64_t *now, bool *grew)
{
	for (int reads = 0; reads < 30; reads++) {
		*now = must_count(fd);
		if (*now < *last)
			return false;
		*grew |= reads && *now > *last;
		*last = *now;
		if (reads % 10 == 9)
			sched_yield();		/* a lone CPU has the threads run here */
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

/* One round: three threads, and reads meanwhile. Returns whether the sum grew between reads. */
static bool read_in_churn(int fd, int round, uint64_t one, uint64_t *last)
{
	pthread_t threads[3];
	bool grew = false, fell;
	uint64_t now = 0;

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, fault_once, NULL));
	fell = !read_sums(fd, last, &now, &grew);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	if (fell)
		say_broken("fell in round %d: %" PRIu64 " after %" PRIu64 " (one thread adds %"
			   PRIu64 ")", round, now, *last, one);
	return grew;
}

TEST(monotone_in_churn)
{
	const struct perf_event_attr attr = attr_counter(true);
	int fd = must_open(&attr, 0, -1, -1, 0), rounds, overlaps = 0;
	const uint64_t one = faults_of_one(fd), end = now_ns() + SECONDS * 1000000000ull;
	struct worker idle[IDLE];
	uint64_t last = 0;

	for (int i = 0; i < IDLE; i++)
		must_start_worker(&idle[i], WORKER_THREAD);
	for (rounds = 0; rounds < ROUNDS && now_ns() < end; rounds++)
		overlaps += read_in_churn(fd, rounds, one, &last);
	last = must_count(fd);
	if (last < (uint64_t)rounds * 3 * FAULTS)
		say_broken("sum=%" PRIu64 " want at least %d", last, rounds * 3 * FAULTS);
	if (rounds < ENOUGH || overlaps < ENOUGH / 4)
		say_unknown("%d rounds in %d s, and the sum grew while it was read in %d", rounds,
			    SECONDS, overlaps);
}

PROBE_MAIN
