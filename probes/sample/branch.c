/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can samples carry the branches that led to them? Only some PMUs can. What is refused is asked by
 * attr.branch_bits and errno.open.
 * Observed: samples of cycles in a loop of branches list branches.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("branch stacks in samples")
      SINCE("3.4")
      POINT(branches, "samples of cycles list branches with addresses")
      NEEDS("pmu"))

TEST(branches)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_attr without;
	struct pm_record record;
	struct sampler sampler;
	int samples = 0;

	must_have_counters();
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP;
	without = attr;
	attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 16, "BRANCH_STACK");
	for (int round = 0; round < 50; round++) {
		spin_ns(5000000);
		while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
			const struct perf_branch_entry *entry = record.sample.branches;

			samples++;
			if (record.sample.branch_nr && entry->from && entry->to)
				return;
		}
	}
	if (!samples)
		say_unknown("no sample of cycles in 250 ms of work");
	say_broken("no branch in any of %d samples", samples);
}

PROBE_MAIN
