/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are samples of a precise event marked as exact? Only then is the address that of the instruction
 * itself.
 * Observed: cycles with precise_ip=2 in a busy loop.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("samples marked as exact")
      SINCE("2.6.31")
      POINT(exact_ip, "a precise event's samples are marked MISC_EXACT_IP")
      NEEDS("pmu"))

TEST(exact_ip)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_attr without;
	struct pm_record record;
	struct sampler sampler;
	int exact = 0, seen = 0;

	must_have_counters();
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP;
	without = attr;
	attr.precise_ip = 2;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 8, "precise_ip=2");
	for (int round = 0; round < 50 && !seen; round++) {
		spin_ns(5000000);
		while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
			seen++;
			exact += !!(record.misc & PERF_RECORD_MISC_EXACT_IP);
		}
	}
	if (!seen)
		say_unknown("no sample of cycles in 250 ms of work");
	if (!exact)
		say_broken("samples=%d marked exact=%d", seen, exact);
}

PROBE_MAIN
