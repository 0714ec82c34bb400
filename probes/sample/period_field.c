/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the periods that samples carry add up to what happened? A profiler weighs samples by them. A
 * software event of a fixed period that is asked for PERIOD samples every single hit, each with
 * period 1: the weights are right, but the ring fills ten times faster.
 * Observed: 100 page faults at a period of 10, with and without the field.
 */
#include "probe.h"

PROBE(TITLE("periods in samples of software events")
      SINCE("2.6.31")
      POINT(fixed_period,
	    "at a period of 10, without PERIOD in sample_type, 100 faults give 10 samples")
      POINT(adds_up, "at a period of 10 the periods in the samples of 100 faults add up to 100")
      POINT(follows_frequency, "with a frequency the period in each sample is that of its time, "
	    "not always the first")
      FACT(samples_with_field, int, "of 100",
	   "samples of 100 faults at a period of 10, with PERIOD")
      FACT(samples_without_field, int, "of 100",
	   "samples of 100 faults at a period of 10, without PERIOD")
      FACT(samples_every_hit, bool, "-",
	   "asking for PERIOD makes a software event of a fixed period sample every single hit"))

/* How many samples 100 page faults give at a period of 10, and the sum of their periods. */
static int count_and_sum(uint64_t type, uint64_t *ret_sum)
{
	struct perf_event_attr attr = attr_faults(type);
	struct pm_record record;
	int count = 0;
	struct sampler sampler;

	attr.sample_period = 10;
	sampler = must_run_sampler(&attr, 0, -1, 4);
	ASSERT_EQ(0, cause_faults(100));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (*ret_sum = 0; find_record(&sampler, PERF_RECORD_SAMPLE, &record); count++)
		*ret_sum += record.sample.period;
	return count;
}

TEST(fixed_period)
{
	uint64_t sum;
	int samples = count_and_sum(PERF_SAMPLE_TID, &sum);

	fact_int("samples_without_field", samples);
	if (samples < 9 || samples > 12)
		say_broken("samples of 100 faults at a period of 10: %d", samples);
}

TEST(adds_up)
{
	uint64_t sum;
	int samples = count_and_sum(PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD, &sum);

	fact_int("samples_with_field", samples);
	fact_bool("samples_every_hit", samples >= 100);
	/* A period may be under way at either end; a probe's own mapping may fault once more. */
	if (sum < 90 || sum > 120)
		say_broken("periods of %d samples of 100 faults add up to %" PRIu64, samples, sum);
}

/* The kernel looks for the period that gives the frequency: it begins with 1 and grows. The first
 * ones it tries overshoot, and samples tell what was tried: here they do not add up. */
TEST(follows_frequency)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD);
	uint64_t first = 0, last = 0;
	struct pm_record record;
	struct sampler sampler;
	int samples = 0;

	attr.freq = 1;
	attr.sample_freq = 1000;
	sampler = must_run_sampler(&attr, 0, -1, 16);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, cause_faults(1000));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); samples++) {
		last = record.sample.period;
		first = first ? first : last;
		if (!last)
			say_broken("sample %d has a period of 0", samples);
	}
	if (samples < 3)
		say_unknown("samples=%d of %" PRIu64 " faults", samples, must_count(sampler.fd));
	if (samples < 1000 && last == first)
		say_broken("the period of %d samples of %" PRIu64 " faults stays %" PRIu64, samples,
			   must_count(sampler.fd), first);
}

PROBE_MAIN
