/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can one inheriting event on any CPU follow a program? It is the cheapest way: one descriptor to
 * count, and to sample one more ring, of a plain event, because an inheriting event of any CPU
 * cannot be mapped.
 * Observed: the count grows by the faults of threads made afterwards; their samples are in the
 * ring.
 */
#include "probe.h"

PROBE(TITLE("one inheriting event on any CPU")
      SINCE("2.6.31")
      POINT(inherit_any_cpu_count, "one inheriting event on any CPU counts new threads")
      POINT(inherit_any_cpu_ring,
	    "one inheriting event on any CPU, redirected to a plain event, fills its ring"))

static void *fault_hundred(void *unused)
{
	cause_faults(100);
	return unused;
}

TEST(inherit_any_cpu_count)
{
	const struct perf_event_attr attr = attr_counter(true);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t none = must_count(fd), one, five;

	ASSERT_EQ(0, run_in_thread(fault_hundred, NULL));
	one = must_count(fd) - none;
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, run_in_thread(fault_hundred, NULL));
	five = must_count(fd) - none;
	/* Each thread also faults a little for its own stack. */
	if (one < 100 || one >= 200 || five - one < 400 || five - one >= 800)
		say_broken("one thread=%" PRIu64 " four more=%" PRIu64 " want>=100,>=400", one,
			   five - one);
}

TEST(inherit_any_cpu_ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct sampler leader = must_sampler(&attr, 0, -1, 32);
	struct pm_record record;
	int source, foreign = 0;

	attr.inherit = 1;
	source = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, leader.fd);
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, run_in_thread(fault_hundred, NULL));
	while (find_record(&leader, PERF_RECORD_SAMPLE, &record))
		foreign += record.sample.sid.tid != (uint32_t)pm_gettid();
	if (foreign < 100)
		say_broken("samples of the new thread=%d want>=100", foreign);
}

PROBE_MAIN
