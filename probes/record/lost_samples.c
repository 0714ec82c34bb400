/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a PMU say how many samples it lost itself? Intel's PEBS writes samples into a buffer without
 * the kernel; where two events overflow at once it keeps one of them, and LOST_SAMPLES tells how
 * many went. Other hardware loses nothing this way and writes no such record.
 * Observed: four precise events with one short period, which collide sooner or later.
 * Linux f38b0dbb491a ("perf/x86/intel: Introduce PERF_RECORD_LOST_SAMPLES") (v4.2)
 */
#include "probe.h"
#include "core_pmu.h"
#include "finding.h"

PROBE(TITLE("samples that the PMU itself loses")
      SINCE("4.2")
      COMMIT("f38b0dbb491a")
      NEEDS("pmu")
      POINT(told, "a LOST_SAMPLES record tells how many samples the PMU lost")
      FACT(lost, int, "samples", "how many were told in a tenth of a second of collisions"))

#define EVENTS 4

struct tally {
	uint64_t lost, samples, empty;
};

static struct perf_event_attr must_have_precise(void)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr with;
	struct finding finding;

	attr.sample_period = 20032;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	with = attr;
	with.precise_ip = 2;
	judge_pair_machine(&with, &attr, "precise_ip 2 for instructions", &finding);
	if (finding.verdict != YES)
		say(&finding);
	return with;
}

static void take(struct sampler *sampler, struct tally *tally)
{
	struct pm_record record;

	while (find_record(sampler, 0, &record)) {
		tally->samples += record.type == PERF_RECORD_SAMPLE;
		if (record.type != PERF_RECORD_LOST_SAMPLES)
			continue;
		tally->lost += record.lost_samples.lost;
		tally->empty += !record.lost_samples.lost;
	}
}

TEST(told)
{
	struct sampler samplers[EVENTS];
	struct perf_event_attr attr;
	struct tally tally = { 0 };

	must_have_counters();
	attr = must_have_precise();
	for (int i = 0; i < EVENTS; i++)
		samplers[i] = must_run_sampler(&attr, 0, -1, 16);
	for (const uint64_t end = now_ns() + 100000000; now_ns() < end;) {
		spin_ns(2000000);
		for (int i = 0; i < EVENTS; i++)
			take(&samplers[i], &tally);
	}
	fact_int("lost", tally.lost);
	if (!tally.samples)
		say_unknown("no sample in 100 ms of work");
	if (tally.empty)
		say_broken("%" PRIu64 " records tell that 0 samples were lost", tally.empty);
	if (!tally.lost)
		say_absent("this PMU lost none of %" PRIu64 " samples", tally.samples);
}

PROBE_MAIN
