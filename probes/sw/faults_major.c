/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are page faults told apart by whether the disk was read? Observed: pages of a file whose cache
 * was dropped, as many as mincore(2) says are not in memory; reading ahead is asked not to happen.
 */
#include "probe.h"
#include "pages.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("major page faults")
      SINCE("2.6.31")
      POINT(file, "major-faults counts pages of a file that are not in memory")
      POINT(sum, "over pages read from disk, page-faults is the sum of minor-faults and "
	    "major-faults"))

#define PAGES 64

static int open_running(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);

	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

/* A mapped file of which no page is in memory, and how many pages that really are. */
static volatile char *map_cold_file(unsigned int *cold)
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
			area = map_fresh(fd, PAGES);
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		if (area && mincore((void *)area, size, resident) == 0)
			for (int page = 0; page < PAGES; page++)
				*cold += !(resident[page] & 1);
	}
	if (!*cold)
		say_absent("no file system here whose pages can be dropped from memory");
	return area;
}

TEST(sum)
{
	enum { ALL, MINOR, MAJOR };
	const int fds[] = { open_running(PERF_COUNT_SW_PAGE_FAULTS),
			    open_running(PERF_COUNT_SW_PAGE_FAULTS_MIN),
			    open_running(PERF_COUNT_SW_PAGE_FAULTS_MAJ) };
	unsigned int cold;
	volatile char *area = map_cold_file(&cold);
	uint64_t counts[3];

	ASSERT_EQ(0, cause_faults(PAGES));
	touch_pages(NULL, 0);
	for (int i = 0; i < 6; i++)	/* in the second round nothing faults any more */
		must_ioctl(fds[i % 3], PERF_EVENT_IOC_RESET, 0);
	touch_pages(area, PAGES);
	for (int i = 0; i < 3; i++)
		must_ioctl(fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < 3; i++)
		counts[i] = must_count(fds[i]);
	if (counts[ALL] < PAGES || !counts[MAJOR])
		say_broken("all=%" PRIu64 " want>=%d, major=%" PRIu64 " for %u cold pages",
			   counts[ALL], PAGES, counts[MAJOR], cold);
	if (counts[ALL] != counts[MINOR] + counts[MAJOR])
		say_broken("all=%" PRIu64 " minor=%" PRIu64 " major=%" PRIu64, counts[ALL],
			   counts[MINOR], counts[MAJOR]);
}

TEST(file)
{
	int fd = open_running(PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	unsigned int cold;
	volatile char *area = map_cold_file(&cold);
	uint64_t count;

	touch_pages(area, PAGES);
	count = must_count(fd);
	if (count == 0 || count > PAGES + 8)
		say_broken("counted=%" PRIu64 " want 1 to %u for %u cold pages", count, PAGES,
			   cold);
}

PROBE_MAIN
