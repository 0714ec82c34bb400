/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest probe there is, and the one to copy: a question, an action, an effect.
 * Here: does a page-fault counter count exactly the pages that were touched?
 */
#include "probe.h"

PROBE(TITLE("a counter that counts")
      SINCE("2.6.31")
      POINT(counts, "64 touched pages are 64 counts")
      FACT(faults, int, "events", "counts read after touching 64 pages"))

TEST(counts)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before, after;
	int fd;

	fd = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	before = must_count(fd);
	ASSERT_EQ(0, cause_faults(64));
	after = must_count(fd);
	fact_int("faults", after - before);
	if (after - before != 64)
		say_broken("counted=%" PRIu64 " want=64", after - before);
}

PROBE_MAIN
