/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * If one CPU wakes another, does the cause bear an earlier stamp than the effect? Who merges rings
 * by time shows effects before causes where it does not.
 * Observed: two threads on two CPUs take turns, each ordered to cause a page fault when the other
 * has answered; all stamps together must grow in the order of the hand-overs.
 */
#include "probe.h"

PROBE(TITLE("cause before effect across CPUs")
      SINCE("2.6.31")
      NEEDS("cpu2")
      POINT(default_clock, "stamps of the default clock follow the order of hand-overs")
      POINT(monotonic, "stamps of CLOCK_MONOTONIC follow the order of hand-overs")
      SINCE("4.1")
      FACT(default_backward, int, "ns", "largest step backward of the default clock")
      FACT(default_violations, int, "of 200", "hand-overs whose stamps run backward"))

#define ROUNDS 100

static int move_to_first(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(0);
}

static int move_to_second(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(1);
}

/* Let two threads on two CPUs take turns; the stamps of both, ROUNDS each. */
static void stamps_of(const struct perf_event_attr *attr, uint64_t stamps[2][ROUNDS])
{
	struct worker workers[2];
	struct sampler samplers[2];

	require(REQUIRE_CPU2);
	for (int i = 0; i < 2; i++) {
		must_start_worker(&workers[i], WORKER_THREAD);
		ASSERT_LE(0, worker_do(&workers[i], i ? move_to_second : move_to_first, NULL));
		ASSERT_EQ(0, worker_faults(&workers[i], 1));
		samplers[i] = must_run_sampler(attr, workers[i].tid, -1, 16);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(0, worker_faults(&workers[i], 1));
	for (int i = 0; i < 2; i++) {
		struct pm_record record;
		int seen = 0;

		while (seen < ROUNDS && find_record(&samplers[i], PERF_RECORD_SAMPLE, &record))
			stamps[i][seen++] = record.sample.sid.time;
		if (seen != ROUNDS || find_record(&samplers[i], PERF_RECORD_SAMPLE, &record))
			say_unknown("thread %d: %d samples of %d faults", i, seen, ROUNDS);
	}
}

static int64_t worst_step(uint64_t stamps[2][ROUNDS], int *ret_violations)
{
	uint64_t last = 0;
	int64_t worst = 0;

	*ret_violations = 0;
	for (int move = 0; move < 2 * ROUNDS; move++) {
		const uint64_t now = stamps[move % 2][move / 2];

		if (now < last) {
			worst = (int64_t)(last - now) > worst ? (int64_t)(last - now) : worst;
			++*ret_violations;
		}
		last = now;
	}
	return worst;
}

TEST(default_clock)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);
	uint64_t stamps[2][ROUNDS];
	int violations;
	int64_t worst;

	stamps_of(&attr, stamps);
	worst = worst_step(stamps, &violations);
	fact_int("default_backward", worst);
	fact_int("default_violations", violations);
	if (violations)
		say_no("%d of %d hand-overs run backward, by up to %" PRId64 " ns", violations,
		       2 * ROUNDS, worst);
}

TEST(monotonic)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME), without = attr;
	uint64_t stamps[2][ROUNDS];
	int violations;
	int64_t worst;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	close(ask_open(&attr, &without, 0, -1, "use_clockid"));
	stamps_of(&attr, stamps);
	worst = worst_step(stamps, &violations);
	if (violations)
		say_broken("%d of %d hand-overs run backward, by up to %" PRId64 " ns", violations,
			   2 * ROUNDS, worst);
}

PROBE_MAIN
