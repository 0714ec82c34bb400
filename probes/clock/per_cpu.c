/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far apart are the default clocks of different CPUs? Each CPU keeps its own; who merges rings
 * of several CPUs needs to know by how much they differ.
 * Observed: page faults on each CPU in turn, bracketed by CLOCK_MONOTONIC, which is one for all
 * CPUs. The first CPU is measured again right before and behind each other one, because its clock
 * drifts against CLOCK_MONOTONIC meanwhile: what it moved by counts as uncertainty. Two clocks are
 * the same unless they are proven apart: further than both brackets and the drift leave open. That
 * clocks differ is neither a fault nor a refusal: it is told as a fact.
 */
#include "probe.h"
#include "stamps.h"
#include <stdio.h>

PROBE(TITLE("the default clock of each CPU")
      SINCE("2.6.31")
      NEEDS("cpu2")
      POINT(measured, "each CPU's offset to CLOCK_MONOTONIC is known to better than 1 ms")
      POINT(compared, "each CPU's clock is compared with the first CPU's, to 1 ms or better")
      FACT(same, bool, "-", "no CPU's clock is proven apart from the first CPU's")
      FACT(cpus, int, "CPUs", "how many CPUs were compared")
      FACT(offsets, string, "ns", "CPU:offset+-half_width to CLOCK_MONOTONIC, of the first CPUs")
      FACT(skew, int, "ns", "largest difference of a CPU's clock from the first CPU's")
      FACT(skew_half_width, int, "ns", "uncertainty of that")
      FACT(drift, int, "ppb", "how fast the offset of the first CPU changes")
      FACT(drift_half_width, int, "ppb", "uncertainty of that"))

#define COARSE 1000000			/* ns: a wider half bracket says nothing */
#define PATIENCE 7000000000ull		/* ns for all CPUs; the harness waits for 10 s */

/* A CPU's clock against CLOCK_MONOTONIC. */
static struct pm_clock_offset measure(struct sampler *sampler, int nth, int *ret_cpu)
{
	struct pm_clock_bracket brackets[30];
	struct pm_clock_offset ret = { 0 };
	int cpu = move_to_nth_cpu(nth);

	ASSERT_LE(0, cpu);
	for (int round = 0; round < 20; round++) {
		stamp_faults(sampler, CLOCK_MONOTONIC, brackets, 30);
		ASSERT_EQ(0, pm_clock_offset(brackets, 30, &ret));
		if (ret.half_width < COARSE)
			break;
	}
	if (ret.half_width >= COARSE)
		say_unknown("CPU %d: tightest bracket is %" PRIu64 " ns wide", cpu,
			    2 * ret.half_width);
	*ret_cpu = cpu;
	return ret;
}

static struct sampler must_stamp(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);

	require(REQUIRE_CPU2);
	return must_run_sampler(&attr, 0, -1, 2);
}

TEST(measured)
{
	struct sampler sampler = must_stamp();
	const uint64_t begin = now_ns();
	struct pm_clock_offset first = { 0 }, offset;
	const int count = count_cpus();
	char text[640] = "";
	uint64_t elapsed;
	int cpu;

	for (int i = 0; i < count; i++) {
		const size_t used = strlen(text);

		if (now_ns() - begin > PATIENCE)
			say_unknown("%d of %d CPUs measured in 7 s", i, count);
		offset = measure(&sampler, i, &cpu);
		first = i ? first : offset;
		if (used < sizeof(text) - 60)
			snprintf(text + used, sizeof(text) - used, "%s%d:%" PRId64 "+-%" PRIu64,
				 i ? " " : "", cpu, offset.offset, offset.half_width);
	}
	fact_str("offsets", "%s", text);
	spin_ns(20000000);
	offset = measure(&sampler, 0, &cpu);
	elapsed = now_ns() - begin;
	fact_int("drift", (offset.offset - first.offset) * 1000000000 / (int64_t)elapsed);
	fact_int("drift_half_width", (offset.half_width + first.half_width) * 1000000000 / elapsed);
}

/* How far a CPU's clock is from the first CPU's, and what the measurement leaves open. */
struct apart {
	uint64_t skew, open;
};

static struct apart compare(struct sampler *sampler, int nth)
{
	int first, cpu;
	const struct pm_clock_offset before = measure(sampler, 0, &first);
	const struct pm_clock_offset other = measure(sampler, nth, &cpu);
	const struct pm_clock_offset after = measure(sampler, 0, &first);
	const int64_t skew = other.offset - (before.offset + after.offset) / 2;
	const uint64_t moved = llabs(after.offset - before.offset);
	const uint64_t width = before.half_width > after.half_width ? before.half_width :
			       after.half_width;

	return (struct apart){ llabs(skew), other.half_width + width + moved };
}

TEST(compared)
{
	struct sampler sampler = must_stamp();
	const uint64_t begin = now_ns();
	struct apart worst = { 0 }, apart;
	const int count = count_cpus();
	uint64_t widest = 0;

	for (int i = 1; i < count; i++) {
		if (now_ns() - begin > PATIENCE)
			say_unknown("%d of %d CPUs compared in 7 s", i, count);
		apart = compare(&sampler, i);
		for (int again = 0; again < 4 && apart.skew > apart.open; again++)
			apart = compare(&sampler, i);
		widest = apart.open > widest ? apart.open : widest;
		if (i == 1 || apart.skew > worst.skew)
			worst = apart;
		if (apart.skew > apart.open) {
			worst = apart;
			break;
		}
	}
	fact_int("cpus", count);
	fact_int("skew", worst.skew);
	fact_int("skew_half_width", worst.open);
	if (worst.skew <= worst.open && widest >= COARSE)
		say_unknown("the measurement leaves %" PRIu64 " ns open", widest);
	fact_bool("same", worst.skew <= worst.open);
}

PROBE_MAIN
