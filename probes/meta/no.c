/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: a conclusive refusal, proven by a pair of opens. A reserved bit of
 * the attr is asked for, which no kernel takes.
 */
#include "probe.h"

PROBE(TITLE("a refusal proven by a pair")
      SINCE("2.6.31")
      POINT(refused, "never: the bit is reserved"))

TEST(refused)
{
	struct perf_event_attr without = attr_software(PERF_COUNT_SW_PAGE_FAULTS), with = without;

	with.__reserved_2 = 1;
	close(ask_open(&with, &without, 0, -1, "__reserved_2"));
}

PROBE_MAIN
