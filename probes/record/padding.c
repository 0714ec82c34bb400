/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are samples with parts of any length padded to 8 bytes? Then no header straddles the ring's end,
 * and its fields can be read in place.
 * Observed: page faults with raw data and a call chain; the walk ends exactly at data_head.
 */
#include "probe.h"

PROBE(TITLE("the padding of samples")
      SINCE("2.6.31")
      POINT(multiple_of_8, "samples with raw data and a call chain are a multiple of 8 bytes long"))

TEST(multiple_of_8)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN |
						  PERF_SAMPLE_TID);
	const struct perf_event_header *header;
	struct sampler sampler;
	int seen = 0;

	attr.exclude_callchain_kernel = 1;
	sampler = must_run_sampler(&attr, 0, -1, 8);
	ASSERT_EQ(0, cause_faults(16));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (; pm_ring_next(&sampler.ring, &header) == 1; seen++)
		if (header->size % 8)
			say_broken("size=%u is no multiple of 8", header->size);
	if (seen < 16 || pm_ring_pending(&sampler.ring))
		say_broken("samples=%d want=16, left over=%" PRIu64 " bytes", seen,
			   pm_ring_pending(&sampler.ring));
}

PROBE_MAIN
