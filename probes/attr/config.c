/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the kernel answer for an event type or number that does not exist?
 *
 * A library falls back by this answer, so it must be ENOENT and not something that looks like a
 * bug of the caller. The number has 64 bits and all of them must be looked at: a kernel that
 * drops the upper half counts another event than was asked for (before v3.10).
 */
#include "probe.h"

PROBE(TITLE("events that do not exist")
      SINCE("2.6.31")
      POINT(unknown_type, "a type that no PMU has is ENOENT")
      POINT(software_out_of_range, "a software event of a number too high is ENOENT")
      FACT(software_events, int, "events", "software events from 0 on that open")
      POINT(software_upper_half, "a software event with bit 32 of its number set is ENOENT")
      SINCE("3.10"))

static int open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = attr_of(type, config);

	return pm_open(&attr, 0, -1, -1, 0);
}

TEST(unknown_type)
{
	must_plain();
	hold_rule(open_event(0x7fffff00, 0), ENOENT, BROKEN, "type 0x7fffff00");
	hold_rule(open_event(0x7fffff01, 1), ENOENT, BROKEN, "type 0x7fffff01");
}

TEST(software_out_of_range)
{
	int count = 0;

	must_plain();
	for (; count < 1000; count++) {
		int fd = open_event(PERF_TYPE_SOFTWARE, count);

		if (fd < 0)
			break;
		close(fd);
	}
	fact_int("software_events", count);
	hold_rule(open_event(PERF_TYPE_SOFTWARE, 1000), ENOENT, BROKEN, "software event 1000");
	hold_rule(open_event(PERF_TYPE_SOFTWARE, 0x7fffffff), ENOENT, BROKEN,
		  "software event 0x7fffffff");
}

TEST(software_upper_half)
{
	must_plain();
	hold_rule(open_event(PERF_TYPE_SOFTWARE, 1ull << 32 | PERF_COUNT_SW_PAGE_FAULTS), ENOENT,
		  BROKEN, "software event 0x100000002 counts as event 2");
}

PROBE_MAIN
