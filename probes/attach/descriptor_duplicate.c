/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is an event bound to its first descriptor? Libraries duplicate descriptors and close what they
 * were given. Observed: exact page faults, started and stopped through a duplicate, and a ring that
 * is mapped through one of the two.
 */
#include "probe.h"

PROBE(TITLE("two descriptors of one event")
      SINCE("2.6.31")
      POINT(counts_on, "a duplicate counts on after the first descriptor was closed")
      POINT(ring, "a ring mapped through the one descriptor shows what the other enabled"))

TEST(counts_on)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0), copy = dup(fd);

	ASSERT_LE(0, copy);
	must_close(fd);
	must_ioctl(copy, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(copy, NULL, 16, 16);
	must_ioctl(copy, PERF_EVENT_IOC_DISABLE, 0);
	expect_gain(copy, NULL, 16, 0);
}

TEST(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct sampler sampler = must_sampler(&attr, 0, -1, 4);
	int copy = dup(sampler.fd), samples;

	ASSERT_LE(0, copy);
	must_ioctl(copy, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(16));
	must_ioctl(copy, PERF_EVENT_IOC_DISABLE, 0);
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (samples < 16)
		say_broken("samples=%d want>=16", samples);
}

PROBE_MAIN
