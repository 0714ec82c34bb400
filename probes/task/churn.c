/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the sum of an inherit event ever fall while threads come and go? A count could be missed
 * between the living copy of an ending thread and the folded sum, and be there again a moment
 * later. Or it is seen in both, and the sum is too high for a moment: before ef54c1a476ae ("perf:
 * Rework perf_event_exit_event()") (v5.13) an ending thread is folded into the sum first and taken
 * off the list of copies later, and only the latter keeps readers out.
 * Observed: the sum is read as fast as can be while three threads at a time are born and die, each
 * with the same page faults. The evidence is how often it fell, and the first fall beside what one
 * thread adds: counting a thread twice makes a fall of that, less what others added meanwhile.
 */
#include "probe.h"

PROBE(TITLE("a sum that never falls")
      SINCE("2.6.31")
      POINT(monotone_in_churn, "the sum never falls while threads come and go"))

#define FAULTS 20
#define ROUNDS 40

static void *fault_once(void *unused)
{
	(void)unused;
	cause_faults(FAULTS);
	return NULL;
}

struct falls {
	int reads, falls, round;
	uint64_t last, from, to;	/* the latest sum, and both sides of the first fall */
};

/* Read the sum once and keep book. */
static void read_sum(struct __test_metadata *_metadata, int fd, int round, struct falls *falls)
{
	const uint64_t now = must_count(fd);

	if (now < falls->last && !falls->falls++) {
		falls->round = round;
		falls->from = falls->last;
		falls->to = now;
	}
	falls->reads++;
	falls->last = now;
}

/* What one thread alone adds to the sum, its start and end included. */
static uint64_t faults_of_one(struct __test_metadata *_metadata, int fd)
{
	uint64_t before;

	ASSERT_EQ(0, in_thread(fault_once, NULL));
	before = must_count(fd);
	ASSERT_EQ(0, in_thread(fault_once, NULL));
	return must_count(fd) - before;
}

TEST(monotone_in_churn)
{
	const struct perf_event_attr attr = attr_counter(true);
	int fd = must_open(&attr, 0, -1, -1, 0);
	const uint64_t one = faults_of_one(_metadata, fd);
	struct falls falls = { .last = 0 };

	for (int round = 0; round < ROUNDS; round++) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, fault_once, NULL));
		for (int reads = 0; reads < 30; reads++)
			read_sum(_metadata, fd, round, &falls);
		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_join(threads[i], NULL));
	}
	read_sum(_metadata, fd, ROUNDS, &falls);
	if (falls.falls)
		broken("falls=%d of %d reads, first in round %d: %" PRIu64 " after %" PRIu64
		       " (one thread adds %" PRIu64 ")", falls.falls, falls.reads, falls.round,
		       falls.to, falls.from, one);
	if (falls.last < ROUNDS * 3 * FAULTS)
		broken("sum=%" PRIu64 " want at least %d", falls.last, ROUNDS * 3 * FAULTS);
}

PROBE_MAIN
