/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a sample dropped that was meant for user code but is taken, by skid, in the kernel? v4.12 did
 * that and was corrected: a user-only profile of a program full of system calls became empty.
 * Observed with a counter of instructions over a loop of short system calls.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("samples of user code taken in the kernel")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(system_calls_are_sampled, "a user-only counter samples a loop of system calls"))

TEST(system_calls_are_sampled)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	const uint64_t end = now_ns() + 1000000000;
	int samples = 0;
	struct sampler sampler;

	must_have_counters();
	attr.sample_period = 1024;
	attr.sample_type = PERF_SAMPLE_IP;
	sampler = must_sampler(&attr, 0, -1, 16);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	while (samples < 20 && now_ns() < end) {
		for (int i = 0; i < 2000; i++)
			getppid();
		samples += count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	}
	if (samples >= 20)
		return;
	must_have_run();
	if (must_count(sampler.fd) < 100 * 1024)
		say_unknown("samples=%d, but only %" PRIu64 " instructions were counted in 1 s",
			    samples, must_count(sampler.fd));
	say_broken("samples=%d of %" PRIu64 " instructions around system calls, one in 1024",
		   samples, must_count(sampler.fd));
}

PROBE_MAIN
