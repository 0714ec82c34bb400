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

struct run {
	uint64_t cost, ns;
};

static struct run run_loop(int fd, int times)
{
	const uint64_t start = now_ns(), cost = cost_of(fd, times);

	return (struct run){ .cost = cost, .ns = now_ns() - start };
}

static bool is_about_four_times(uint64_t four, uint64_t one)
{
	return four > 3 * one && four < 5 * one;
}

/*
 * Interrupts that a PMU counts as user code spoil a run; the best of some tells. A machine that
 * stands still while it runs shows in the time, and an emulated PMU counts by that.
 */
static void grow(int fd, uint64_t *one)
{
	uint64_t four = 0;
	int steady = 0;

	for (int attempt = 0; attempt < 20 && steady < 5; attempt++) {
		const struct run once = run_loop(fd, 1), more = run_loop(fd, 4);

		*one = once.cost;
		four = more.cost;
		if (*one >= PASSES && is_about_four_times(four, *one))
			return;
		steady += is_about_four_times(more.ns, once.ns);
	}
	if (steady < 5)
		say_unknown("one=%" PRIu64 " four=%" PRIu64 ", on a machine where the time of the "
			    "loop does not grow with it either", *one, four);
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
	const uint64_t executed = cost_of(instructions, 4);
	uint64_t taken;
	int branches;

	close(instructions);	/* there may be one counter only */
	branches = open_hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	taken = cost_of(branches, 4);
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
	uint64_t runs[20], ns[20], spread;

	for (int i = 0; i < 20; i++) {
		const struct run run = run_loop(fd, 1);

		runs[i] = run.cost;
		ns[i] = run.ns;
	}
	qsort(runs, 20, sizeof(*runs), compare);
	qsort(ns, 20, sizeof(*ns), compare);
	spread = runs[14] - runs[5];
	fact_int("spread", spread);
	if (spread > runs[5] / 100 && ns[14] - ns[5] > ns[5] / 20)
		say_unknown("runs cost %" PRIu64 " to %" PRIu64 ", and took %" PRIu64 " to %" PRIu64
			    " ns: this machine stands still now and then", runs[0], runs[19], ns[0],
			    ns[19]);
	if (runs[5] < PASSES || spread > runs[5] / 100)
		say_broken("runs cost %" PRIu64 " to %" PRIu64
			   ", the middle half differs by %" PRIu64,
			   runs[0], runs[19], spread);
}

PROBE_MAIN
