/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a library put perf samples on one time line with its own records? It reads CLOCK_MONOTONIC,
 * so samples of every CPU need the time of that clock.
 * Observed: on each CPU in turn a page fault between two readings of the clock; the sample's time
 * lies between them.
 */
#include "probe.h"

PROBE(TITLE("samples on the clock of the library")
      SINCE("4.1")
      POINT(chosen_clock,
	    "CLOCK_MONOTONIC times of samples on all CPUs lie between readings of the clock")
      SINCE("4.1"))

TEST(chosen_clock)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME), without = attr;
	uint64_t before, after, stamp;
	struct pm_record record;
	struct sampler sampler;
	int seen = 0;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	sampler = ask_sampler(&attr, &without, 0, -1, 4, "use_clockid");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++) {
		ASSERT_LE(0, move_to_nth_cpu(i % count_cpus()));
		before = now_ns();
		count_samples(&sampler, 0);	/* what is left is later than that reading */
		ASSERT_EQ(0, cause_faults(1));
		for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++) {
			stamp = record.sample.sid.time;
			after = now_ns();
			if (stamp < before || stamp > after)
				say_broken("stamp=%" PRIu64 " between %" PRIu64 " and %" PRIu64,
					   stamp, before, after);
		}
	}
	if (seen < 10)
		say_broken("samples=%d of 10 faults", seen);
}

PROBE_MAIN
