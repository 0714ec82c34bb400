/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are page faults told apart by whether the disk was read? Observed: pages of a file whose cache
 * was dropped, as many as mincore(2) says are not in memory; reading ahead is asked not to happen.
 */
#include "probe.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("major page faults")
      SINCE("2.6.31")
      POINT(file, "major-faults: pages of a file that is not in memory are counted"))

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

/* A mapped file of which no page is in memory, and how many pages that really are. */
static volatile char *map_cold_file(struct __test_metadata *_metadata, unsigned int *cold)
{
	static const char *const folders[] = { ".", "/var/tmp", "/tmp", "/data/local/tmp" };
	const size_t size = PAGES * probe_env()->page_size;
	unsigned char resident[PAGES];
	volatile char *area = NULL;

	*cold = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !*cold; i++) {
		char path[64], *data = calloc(1, size);
		int fd;

		snprintf(path, sizeof(path), "%s/perfmodes.XXXXXX", folders[i]);
		fd = mkstemp(path);
		if (fd < 0)
			continue;
		unlink(path);
		if (data && write(fd, data, size) == (ssize_t)size && fdatasync(fd) == 0 &&
		    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0)
			area = map_pages(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		if (area && mincore((void *)area, size, resident) == 0)
			for (int page = 0; page < PAGES; page++)
				*cold += !(resident[page] & 1);
	}
	if (!*cold)
		say_absent("no file system here whose pages can be dropped from memory");
	return area;
}

TEST(file)
{
	int fd = open_faults(_metadata, MAJOR);
	unsigned int cold;
	volatile char *area = map_cold_file(_metadata, &cold);
	uint64_t count;

	touch(area);
	count = must_count(fd);
	if (count == 0 || count > PAGES + 8)
		broken("counted=%" PRIu64 " want 1 to %u for %u cold pages", count, PAGES, cold);
}

PROBE_MAIN
