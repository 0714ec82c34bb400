/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do tracepoints sample as often as the period says?
 * Observed: hits are close(2) of numbers that are no descriptors; samples are counted for two
 * periods, and the size of a sample without raw data is known.
 */
#include "probe.h"
#include "tp_close.h"
#include "tracepoint.h"

PROBE(TITLE("samples of tracepoints")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(every_hit, "20 hits of a tracepoint at period 1 are 20 samples")
      POINT(every_fifth_hit, "20 hits of a tracepoint at period 5 are 4 samples")
      POINT(no_raw_without_bit, "without PERF_SAMPLE_RAW a tracepoint's sample has no raw data")
      FACT(frequency, bool, "-", "a tracepoint event with freq = 1 opens"))

/* The count tells missing samples from a tracepoint that was not hit, which is asked again. */
static void want_samples(uint64_t period, int want)
{
	uint64_t counted = 0;
	int samples = 0;

	for (int again = 0; again < 3 && counted != 20; again++) {
		struct sampler sampler = watch_closes(period, PERF_SAMPLE_TID);

		cause_closes(FIRST, 20);
		counted = must_count(sampler.fd);
		samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	}
	if (samples != want || counted != 20)
		say_broken("samples=%d want=%d, counted=%" PRIu64 " want=20", samples, want,
			   counted);
}

TEST(every_hit)
{
	struct perf_event_attr attr;
	int fd;

	want_samples(1, 20);
	attr = sampling(1000, PERF_SAMPLE_TID);
	attr.freq = 1;
	fd = pm_open(&attr, 0, -1, -1, 0);
	fact_bool("frequency", fd >= 0);
}

TEST(every_fifth_hit)
{
	want_samples(5, 4);
}

TEST(no_raw_without_bit)
{
	struct sampler sampler = watch_closes(1, PERF_SAMPLE_TID);
	struct pm_record record;

	cause_closes(FIRST, 1);
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample");
	if (record.size != 16)
		say_broken("size=%u want=16", record.size);
}

PROBE_MAIN
