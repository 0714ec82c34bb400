/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are page faults counted exactly? They are the one exact event that every process may have, and
 * this project's ruler. Observed: fresh pages, and the same pages touched again.
 */
#include "probe.h"

PROBE(TITLE("page fault events")
      SINCE("2.6.31")
      POINT(all_exact, "page-faults: 64 fresh pages are 64 counts, and none when touched again")
      POINT(minor_exact, "minor-faults: 64 fresh pages are 64 counts, and none when touched again")
      POINT(major_none, "major-faults: fresh pages are no major faults"))

enum { ALL, MINOR, MAJOR };
#define PAGES 64

static int open_faults(struct __test_metadata *_metadata, int which)
{
	static const uint64_t configs[] = { PERF_COUNT_SW_PAGE_FAULTS,
					    PERF_COUNT_SW_PAGE_FAULTS_MIN,
					    PERF_COUNT_SW_PAGE_FAULTS_MAJ };
	struct perf_event_attr attr = attr_software(configs[which]);

	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static volatile char *map_pages(int fd)
{
	const size_t size = PAGES * probe_env()->page_size;
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS
			  : MAP_SHARED, fd, 0);

	if (area == MAP_FAILED)
		return NULL;
	madvise(area, size, MADV_NOHUGEPAGE);
	madvise(area, size, MADV_RANDOM);
	return area;
}

/* Nothing but the pages is touched in the loop: no call, no variable that may be on a fresh page. */
static void touch(volatile char *area)
{
	const size_t page = probe_env()->page_size;

	for (volatile char *at = area; at && at < area + PAGES * page; at += page)
		*at = 1;
}

static void check_twice(struct __test_metadata *_metadata, int which, uint64_t want)
{
	int fd = open_faults(_metadata, which);
	volatile char *area;
	uint64_t before, first, second;

	touch(map_pages(-1));	/* the way there is walked once before */
	must_count(fd);
	area = map_pages(-1);
	ASSERT_NE(NULL, area);
	before = must_count(fd);
	touch(area);
	first = must_count(fd) - before;
	touch(area);
	second = must_count(fd) - before - first;
	if (first != want || second != 0)
		broken("first=%" PRIu64 " want=%" PRIu64 ", again=%" PRIu64 " want=0", first, want,
		       second);
}

TEST(all_exact)
{
	check_twice(_metadata, ALL, PAGES);
}

TEST(minor_exact)
{
	check_twice(_metadata, MINOR, PAGES);
}

TEST(major_none)
{
	check_twice(_metadata, MAJOR, 0);
}

PROBE_MAIN
