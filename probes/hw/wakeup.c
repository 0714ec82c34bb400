/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the PMU's interrupt wake a profiler that waits in poll(2)? Often it is one in which nobody
 * may be woken, and the kernel has to send itself another. Observed: a poller, while a busy child
 * is sampled.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("poll and hardware counters")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(cycles, "a sample of cycles wakes a poller")
      POINT(instructions, "a sample of instructions wakes a poller"))

static int spin_long(void *unused)
{
	(void)unused;
	spin_ns(250000000);
	return 0;
}

static void wait_for_sample(uint64_t config)
{
	struct perf_event_attr attr = attr_core(config), counting = attr;
	struct sampler sampler;
	pid_t child;
	int ready;

	must_have_counters();
	attr.sample_period = 200000;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.wakeup_events = 1;
	must_close(ask_open(&attr, &counting, 0, -1, "a sample period"));
	child = start_child(spin_long, NULL);
	ASSERT_LT(0, child);
	sampler = must_sampler(&attr, child, -1, 8);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ready = poll_once(sampler.fd, POLLIN, 400);
	kill(child, SIGKILL);
	wait_child(child);
	if (ready & POLLIN)
		return;
	must_have_run();
	say_broken("poll=%#x after 250 ms of work, counted=%" PRIu64, ready,
			   must_count(sampler.fd));
}

TEST(cycles)
{
	wait_for_sample(PERF_COUNT_HW_CPU_CYCLES);
}

TEST(instructions)
{
	wait_for_sample(PERF_COUNT_HW_INSTRUCTIONS);
}

PROBE_MAIN
