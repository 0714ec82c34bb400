/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast can a software timer sample? The kernel does not let a period of less than 10 us
 * through, whoever asks for 1 us gets at most 100000 samples a second, and may be throttled
 * besides; that part needs a lowered limit to be certain (ring.throttle_limit).
 * Observed with the CPU clock at a period of 1 us over 10 ms of work, which is done again while it
 * gave no sample at all: a slow machine can spend that time on the timer's interrupts alone.
 */
#include "probe.h"

PROBE(TITLE("fastest sampling of a software timer")
      SINCE("2.6.31")
      POINT(timer_has_a_floor, "a period of 1 us does not give more than one sample in 5 us")
      FACT(samples_per_10ms, int, "samples", "samples in 10 ms on a CPU at a period of 1 us")
      FACT(throttles, int, "records", "THROTTLE records in that time"))

TEST(timer_has_a_floor)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t samples = 0, throttles = 0, began = 0, ran = 0;
	struct pm_record record;
	struct sampler sampler;

	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	sampler = must_sampler(&attr, 0, -1, 16);
	for (int tries = 0; tries < 30 && !samples; tries++) {
		must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
		spin_ns(10000000);
		must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
		began = ran;
		ran = must_counts(sampler.fd, attr.read_format).time_running;
		while (find_record(&sampler, 0, &record)) {
			samples += record.type == PERF_RECORD_SAMPLE;
			throttles += record.type == PERF_RECORD_THROTTLE;
		}
	}
	fact_int("samples_per_10ms", samples);
	fact_int("throttles", throttles);
	if (!samples)
		say_broken("no sample in %" PRIu64 " ns", ran);
	if (samples > (ran - began) / 5000 + 2)
		say_broken("samples=%" PRIu64 " in %" PRIu64 " ns", samples, ran - began);
}

PROBE_MAIN
