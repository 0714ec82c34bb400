/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are hardware counts to be believed? An emulator may return noise, a hypervisor may count the
 * host. Observed: the same loop run once and four times: instructions and branches must grow with
 * it, and cycles must grow.
 */
#include "probe.h"
#include "instructions.h"
#include <stdlib.h>

PROBE(TITLE("values of hardware counters")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(instructions_grow, "four times the loop is about four times the instructions")
      POINT(branches_grow, "four times the loop is about four times the branches")
      POINT(cycles_grow, "cycles of four times the loop are more than of one")
      POINT(distinct, "a loop of several instructions and one branch takes fewer branches than "
		      "instructions")
      POINT(repeatable, "the middle half of 20 runs of the loop differ by less than a hundredth")
      FACT(spread, int, "instructions", "dearest less cheapest run of that middle half")
      FACT(per_loop, int, "instructions", "user-mode instructions of a pass of the loop")
      FACT(branches_per_loop, int, "branches", "user-mode branches of a pass of the loop"))

/* Interrupts that a PMU counts as user code spoil a run; the best of five tells. */
static void grow(int fd, uint64_t *one)
{
	uint64_t four = 0;

	for (int attempt = 0; attempt < 5; attempt++) {
		*one = cost_of(fd, 1);
		four = cost_of(fd, 4);
		if (*one >= PASSES && four > 3 * *one && four < 5 * *one)
			return;
	}
	say_broken("one=%" PRIu64 " four=%" PRIu64
		   " want one>=%d and four between 3 and 5 times it",
		   *one, four, PASSES);
}

TEST(instructions_grow)
{
	uint64_t one;

	grow(open_hardware(PERF_COUNT_HW_INSTRUCTIONS), &one);
	fact_int("per_loop", one / PASSES);
}

TEST(branches_grow)
{
	uint64_t one;

	grow(open_hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS), &one);
	fact_int("branches_per_loop", one / PASSES);
}

TEST(cycles_grow)
{
	int fd = open_hardware(PERF_COUNT_HW_CPU_CYCLES);
	uint64_t one = 0, four = 0;

	for (int attempt = 0; attempt < 5; attempt++) {
		one = cost_of(fd, 1);
		four = cost_of(fd, 4);
		if (one && four > one)
			return;
	}
	say_broken("one=%" PRIu64 " four=%" PRIu64, one, four);
}

TEST(distinct)
{
	const int instructions = open_hardware(PERF_COUNT_HW_INSTRUCTIONS);
	const int branches = open_hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	uint64_t executed = must_count(instructions), taken = must_count(branches);

	loop(4);
	taken = must_count(branches) - taken;
	executed = must_count(instructions) - executed;
	/* Load, add, store, compare, jump: three to one is less than any machine needs. */
	if (!executed || !taken)
		say_unknown("instructions=%" PRIu64 " branches=%" PRIu64, executed, taken);
	if (taken > executed / 2)
		say_broken("instructions=%" PRIu64 " branches=%" PRIu64 " of the same loop",
			   executed, taken);
}

static int compare(const void *one, const void *two)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)two;

	return (a > b) - (a < b);
}

TEST(repeatable)
{
	int fd = open_hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t runs[20], spread;

	for (int i = 0; i < 20; i++)
		runs[i] = cost_of(fd, 1);
	qsort(runs, 20, sizeof(*runs), compare);
	spread = runs[14] - runs[5];
	fact_int("spread", spread);
	if (runs[5] < PASSES || spread > runs[5] / 100)
		say_broken("runs cost %" PRIu64 " to %" PRIu64
			   ", the middle half differs by %" PRIu64,
			   runs[0], runs[19], spread);
}

PROBE_MAIN
