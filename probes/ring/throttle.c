/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast can a software timer sample? The kernel does not let a period of less than 10 us
 * through: whoever asks for 1 us gets at most 100000 samples a second, and may be throttled in
 * addition. ring.throttle_limit asks about that with a lowered limit.
 * Observed with the CPU clock at a period of 1 us over 10 ms of work. The work is done again while
 * it gave no sample at all: a slow machine can spend that time on the timer's interrupts alone.
 */
#include "probe.h"
#include "ticker.h"

PROBE(TITLE("fastest sampling of a software timer")
      SINCE("2.6.31")
      POINT(timer_has_a_floor, "cpu-clock with a period of 1 us samples, at most once in 5 us"))

TEST(timer_has_a_floor)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t samples = 0, began = 0, ran = 0;
	struct sampler sampler;
	struct ticker ticker;

	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	sampler = must_sampler(&attr, 0, -1, 16);
	must_tick(&ticker, 10);
	for (int tries = 0; tries < 60 && !samples && ticker_count(&ticker) < 20; tries++) {
		must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
		spin_ns(10000000);
		must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
		began = ran;
		ran = must_counts(sampler.fd, attr.read_format).time_running;
		samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	}
	if (!samples && ticker_count(&ticker) < 20)
		say_unknown("no sample in %" PRIu64 " ns, but another timer interrupted %u times "
			    "only",
			    ran, ticker_count(&ticker));
	if (!samples)
		say_broken("no sample in %" PRIu64 " ns, while another timer interrupted %u times",
			   ran, ticker_count(&ticker));
	if (samples > (ran - began) / 5000 + 2)
		say_broken("samples=%" PRIu64 " in %" PRIu64 " ns", samples, ran - began);
}

PROBE_MAIN
