/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are page faults counted exactly? They are the one exact event that every process may have, and
 * other probes measure with them. Observed: fresh pages, and the same pages touched again.
 */
#include "probe.h"
#include "pages.h"

PROBE(TITLE("page fault events")
      SINCE("2.6.31")
      POINT(all_exact, "page-faults counts 64 fresh pages as 64, and none when they are touched "
	    "again")
      POINT(minor_exact, "minor-faults counts 64 fresh pages as 64, and none when they are "
	    "touched again")
      POINT(major_none, "major-faults does not count fresh pages"))

#define PAGES 64

static int open_running(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);

	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static void check_twice(uint64_t config, uint64_t want)
{
	int fd = open_running(config);
	volatile char *area;
	uint64_t before, first, second;

	touch_pages(map_fresh(-1, PAGES), PAGES);	/* the code's own faults come first */
	must_count(fd);
	area = map_fresh(-1, PAGES);
	ASSERT_NE(NULL, area);
	before = must_count(fd);
	touch_pages(area, PAGES);
	first = must_count(fd) - before;
	touch_pages(area, PAGES);
	second = must_count(fd) - before - first;
	if (first != want || second != 0)
		say_broken("first=%" PRIu64 " want=%" PRIu64 ", again=%" PRIu64 " want=0", first,
			   want, second);
}

TEST(all_exact)
{
	check_twice(PERF_COUNT_SW_PAGE_FAULTS, PAGES);
}

TEST(minor_exact)
{
	check_twice(PERF_COUNT_SW_PAGE_FAULTS_MIN, PAGES);
}

TEST(major_none)
{
	check_twice(PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0);
}

PROBE_MAIN
