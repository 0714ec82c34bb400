/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the kernel answer for an event type that does not exist?
 *
 * A library chooses its fallback by this answer, so it must be ENOENT and not an errno that looks
 * like a mistake of the caller. sw.events, tracepoint.ids and hw.unknown_ids ask about numbers that
 * no event has.
 */
#include "probe.h"

PROBE(TITLE("events that do not exist")
      SINCE("2.6.31")
      POINT(unknown_type, "a type that no PMU has is ENOENT"))

static int open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = attr_of(type, config);

	return pm_open(&attr, 0, -1, -1, 0);
}

TEST(unknown_type)
{
	must_open_plain();
	expect_refused(open_event(0x7fffff00, 0), ENOENT, BROKEN, "type 0x7fffff00");
	expect_refused(open_event(0x7fffff01, 1), ENOENT, BROKEN, "type 0x7fffff01");
}

PROBE_MAIN
