/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a task have hundreds of events, and does each of them count?
 *
 * A design with an event for each thread and CPU needs threads times CPUs times events of them.
 * The kernel knows no limit of events but that of descriptors and memory.
 */
#include "probe.h"

PROBE(TITLE("hundreds of events on one task")
      SINCE("2.6.31")
      POINT(all_count, "several hundred events on one task all count the same faults")
      FACT(opened, int, "events", "events that could be opened, of 400"))

TEST(all_count)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fds[400], count = 0;

	for (; count < 400; count++) {
		fds[count] = pm_open(&attr, 0, -1, -1, 0);
		if (fds[count] < 0)
			break;
		must_ioctl(fds[count], PERF_EVENT_IOC_ENABLE, 0);
	}
	if (count < 200)
		must_open(&attr, 0, -1, -1, 0);		/* says why not */
	fact_int("opened", count);
	ASSERT_EQ(0, cause_faults(10));
	for (int i = 0; i < count; i++)
		if (must_count(fds[i]) < 10)
			broken("event %d of %d counted %" PRIu64 " of 10 faults", i, count,
			       must_count(fds[i]));
}

PROBE_MAIN
