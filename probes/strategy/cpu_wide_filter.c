/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can events on whole CPUs follow one thread, whose samples are picked out by tid? A library with
 * few descriptors and many threads wants one ring a CPU and no more.
 * Observed: page faults of this thread on each CPU are all in the rings.
 */
#include "probe.h"

PROBE(TITLE("events on whole CPUs, filtered by thread")
      SINCE("2.6.31")
      ALONE("what others do on the CPUs fills the rings, too")
      POINT(cpu_wide_filter, "a ring on each CPU, filtered by tid, has every fault of a thread")
      NEEDS("root"))

/* Nothing was read from the ring yet: is it as full as it gets? */
static bool is_full(const struct pm_ring *ring)
{
	const volatile struct perf_event_mmap_page *page = ring->base;

	return page->data_head - page->data_tail + 4096 > ring->data_size;
}

TEST(cpu_wide_filter)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct sampler samplers[64];
	int cpus = count_cpus() < 64 ? count_cpus() : 64, mine = 0, full = 0;

	for (int i = 0; i < cpus; i++) {
		samplers[i] = must_sampler(&attr, -1, move_to_nth_cpu(i), 64);
		must_ioctl(samplers[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	for (int i = 0; i < cpus; i++) {
		ASSERT_LE(0, move_to_nth_cpu(i));
		ASSERT_EQ(0, cause_faults(20));
	}
	for (int i = 0; i < cpus; i++) {
		must_ioctl(samplers[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		full += is_full(&samplers[i].ring);
		mine += count_samples(&samplers[i], pm_gettid());
	}
	if (mine < 20 * cpus && full)
		say_unknown("samples of this thread=%d of %d, and others filled %d of %d rings",
			    mine, 20 * cpus, full, cpus);
	if (mine < 20 * cpus)
		say_broken("samples of this thread=%d want>=%d", mine, 20 * cpus);
}

PROBE_MAIN
