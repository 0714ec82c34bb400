/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sample_type is refused whatever the event? The kernel keeps one bit for itself. Layouts of
 * one field that exclude each other are in attr.exclusions.
 * Observed: the same event is accepted without the wrong bit.
 */
#include "probe.h"

PROBE(TITLE("sample types that are refused")
      SINCE("2.6.33")
      POINT(internal_bit_refused,
	    "EINVAL for sample_type bit 63, which the kernel keeps for itself"))

TEST(internal_bit_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_type |= 1ull << 63;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "sample_type bit 63");
}

PROBE_MAIN
