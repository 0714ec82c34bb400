/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does every sample name the CPU where it was taken? Who sorts samples by CPU needs it of each one,
 * not of the first.
 * Observed: a thread goes from CPU to CPU, and causes page faults that are sampled on each.
 */
#include "probe.h"

PROBE(TITLE("the CPU of each sample")
      SINCE("2.6.31")
      POINT(each_names_its_cpu, "every one of many samples names the CPU that the thread is "
	    "pinned to")
      POINT(moved_along, "after a move to another CPU the samples name that one"))

#define FAULTS 25

/* Pin this thread to the nth CPU, and see that its samples say so. */
static void expect_cpu(struct sampler *sampler, unsigned int nth)
{
	const int cpu = move_to_nth_cpu(nth);
	struct pm_record record;
	int seen = 0;

	ASSERT_LE(0, cpu);
	count_records(&sampler->ring, 0);	/* of the move itself */
	ASSERT_EQ(0, cause_faults(FAULTS));
	for (; find_record(sampler, PERF_RECORD_SAMPLE, &record); seen++)
		if (record.sample.sid.cpu != (uint32_t)cpu || record.sample.sid.cpu_reserved)
			say_broken("sample %d: cpu=%u want=%d, reserved=%u", seen,
				   record.sample.sid.cpu, cpu, record.sample.sid.cpu_reserved);
	if (seen < FAULTS)
		say_broken("samples=%d of %d faults", seen, FAULTS);
}

static struct sampler watch_cpus(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CPU);

	return must_run_sampler(&attr, 0, -1, 4);
}

TEST(each_names_its_cpu)
{
	struct sampler sampler = watch_cpus();

	expect_cpu(&sampler, 0);
}

TEST(moved_along)
{
	struct sampler sampler = watch_cpus();

	require(REQUIRE_CPU2);
	for (int i = 0; i < 4; i++)
		expect_cpu(&sampler, i % 2);
}

PROBE_MAIN
