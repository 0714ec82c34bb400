/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can samples carry the branches that led to them? Only some PMUs can; a software event must be
 * refused at open.
 * Observed: a software event is refused; a hardware event on a loop of branches shows branches.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("branch stacks in samples")
      SINCE("3.4")
      POINT(software_refused, "a software event with BRANCH_STACK is EOPNOTSUPP")
      POINT(unknown_bit, "a branch_sample_type bit that no kernel knows is EINVAL")
      POINT(no_type, "a branch_sample_type of privilege levels alone is EINVAL")
      POINT(branches, "samples of cycles list branches with addresses")
      NEEDS("pmu"))

static int open_branches(uint32_t type, uint64_t branch_type)
{
	struct perf_event_attr attr = attr_of(type, 0);

	attr.sample_period = 100000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = branch_type;
	return pm_open(&attr, 0, -1, -1, 0);
}

static void must_open_without(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);

	attr.sample_period = 100000;
	attr.sample_type = PERF_SAMPLE_IP;
	close(must_open(&attr, 0, -1, -1, 0));
}

TEST(software_refused)
{
	must_open_without();
	expect_refused(open_branches(PERF_TYPE_SOFTWARE, PERF_SAMPLE_BRANCH_USER |
						    PERF_SAMPLE_BRANCH_ANY),
		       EOPNOTSUPP, BROKEN, "BRANCH_STACK of a software event");
}

TEST(unknown_bit)
{
	must_open_without();
	expect_refused(open_branches(PERF_TYPE_SOFTWARE, PERF_SAMPLE_BRANCH_ANY | 1ull << 40),
		       EINVAL, BROKEN, "branch_sample_type bit 40");
	expect_refused(open_branches(PERF_TYPE_SOFTWARE, PERF_SAMPLE_BRANCH_USER |
						    PERF_SAMPLE_BRANCH_ANY),
		       EOPNOTSUPP, BROKEN, "the same without bit 40");
}

TEST(no_type)
{
	must_open_without();
	expect_refused(open_branches(PERF_TYPE_SOFTWARE, PERF_SAMPLE_BRANCH_USER), EINVAL, BROKEN,
		       "branch_sample_type without a type");
	expect_refused(open_branches(PERF_TYPE_SOFTWARE, PERF_SAMPLE_BRANCH_USER |
						    PERF_SAMPLE_BRANCH_ANY),
		       EOPNOTSUPP, BROKEN, "the same with a type");
}

TEST(branches)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
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
