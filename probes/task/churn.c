/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the sum of an inherit event ever fall while threads come and go? A count could be missed
 * between the living copy of an ending thread and the folded sum, and be there again a moment
 * later.
 * Observed: the sum is read as fast as can be while three threads at a time are born and die, each
 * with an exact number of page faults.
 */
#include "probe.h"

PROBE(TITLE("a sum that never falls")
      SINCE("2.6.31")
      POINT(monotone_in_churn, "the sum never falls while threads come and go"))

#define FAULTS 20

static void *fault_once(void *unused)
{
	(void)unused;
	cause_faults(FAULTS);
	return NULL;
}

TEST(monotone_in_churn)
{
	const struct perf_event_attr attr = attr_counter(true);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t last = 0, now;

	for (int round = 0; round < 40; round++) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, fault_once, NULL));
		for (int reads = 0; reads < 30; reads++) {
			now = must_count(fd);
			if (now < last)
				broken("round %d: %" PRIu64 " after %" PRIu64, round, now, last);
			last = now;
		}
		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_join(threads[i], NULL));
	}
	now = must_count(fd);
	if (now < 40 * 3 * FAULTS)
		broken("sum=%" PRIu64 " want at least %d", now, 40 * 3 * FAULTS);
}

PROBE_MAIN
