/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are page faults counted exactly, and told apart by whether the disk was read? They are the one
 * exact event that every process may have, and this project's ruler. Observed: fresh pages, pages
 * touched twice, and pages of a file whose cache was dropped.
 */
#include "probe.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("page fault events")
      SINCE("2.6.31")
      POINT(all_exact, "page-faults: 64 fresh pages are 64 counts, and none when touched again")
      POINT(minor_exact, "minor-faults: 64 fresh pages are 64 counts, and none when touched again")
      POINT(major_none, "major-faults: fresh pages are no major faults")
      POINT(major_file, "major-faults: pages of a file that is not in memory are counted")
      POINT(sum, "page-faults = minor-faults + major-faults over all of this")
      POINT(kernel_excluded, "faults taken by the kernel for a task are not in its user count"))

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

static void touch(volatile char *area)
{
	for (size_t i = 0; i < PAGES; i++)
		area[i * probe_env()->page_size] = 1;
}

static void check_twice(struct __test_metadata *_metadata, int which, uint64_t want)
{
	int fd = open_faults(_metadata, which);
	volatile char *area = map_pages(-1);
	uint64_t before, first, second;

	ASSERT_NE(NULL, area);
	cause_faults(1);
	before = must_count(fd);
	touch(area);
	first = must_count(fd) - before;
	before = must_count(fd);
	touch(area);
	second = must_count(fd) - before;
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

TEST(major_file)
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

TEST(sum)
{
	int fds[] = { open_faults(_metadata, ALL), open_faults(_metadata, MINOR),
		      open_faults(_metadata, MAJOR) };
	uint64_t counts[3];

	ASSERT_EQ(0, cause_faults(PAGES));
	for (int i = 2; i >= 0; i--)
		must_ioctl(fds[i], PERF_EVENT_IOC_RESET, 0);
	ASSERT_EQ(0, cause_faults(PAGES));
	for (int i = 0; i < 3; i++)
		must_ioctl(fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < 3; i++)
		counts[i] = must_count(fds[i]);
	if (counts[ALL] < PAGES || counts[ALL] != counts[MINOR] + counts[MAJOR])
		broken("all=%" PRIu64 " minor=%" PRIu64 " major=%" PRIu64, counts[ALL],
		       counts[MINOR], counts[MAJOR]);
}

TEST(kernel_excluded)
{
	int fd = open_faults(_metadata, ALL), pipes[2];
	volatile char *area = map_pages(-1);
	uint64_t before, count, user;

	ASSERT_NE(NULL, area);
	ASSERT_EQ(0, pipe(pipes));
	user = gain_of_faults(fd, NULL, PAGES);
	before = must_count(fd);
	for (size_t i = 0; i < PAGES; i++) {
		char *page = (char *)area + i * probe_env()->page_size;

		ASSERT_EQ(1, write(pipes[1], "x", 1));
		ASSERT_EQ(1, read(pipes[0], page, 1));
	}
	count = must_count(fd) - before;
	if (count > PAGES / 8 || user != PAGES)
		broken("faults of read(2)=%" PRIu64 " want=0, own=%" PRIu64 " want=%d", count, user,
		       PAGES);
}

PROBE_MAIN
