/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the three events of page faults agree, and whose faults are they? A fault that the kernel
 * takes for a task, while it copies into fresh memory, is no fault of user mode. Observed: the
 * three counts of one piece of work; and read(2) into fresh pages.
 */
#include "probe.h"

PROBE(TITLE("sums of page faults")
      SINCE("2.6.31")
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
