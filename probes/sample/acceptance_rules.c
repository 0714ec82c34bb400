/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sample_type is refused whatever the event? The kernel keeps a bit for itself; two layouts
 * of one field exclude each other.
 * Observed: the same event is accepted without the wrong bit.
 */
#include "probe.h"

PROBE(TITLE("sample types that are refused")
      SINCE("2.6.33")
      POINT(internal_bit_refused, "bit 63, which the kernel keeps for itself, is EINVAL")
      POINT(weights_exclude, "WEIGHT and WEIGHT_STRUCT together are EINVAL")
      SINCE("5.12"))

TEST(internal_bit_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_type |= 1ull << 63;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "sample_type bit 63");
}

TEST(weights_exclude)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT_STRUCT);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);

	close(ask_open(&attr, &without, 0, -1, "WEIGHT_STRUCT"));
	attr.sample_type |= PERF_SAMPLE_WEIGHT;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "WEIGHT with WEIGHT_STRUCT");
}

PROBE_MAIN
