/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the three events of page faults agree, and whose faults are they? A fault that the kernel
 * takes for a task, while it copies into fresh memory, is no fault of user mode. Observed: the
 * three counts of one piece of work; and read(2) into fresh pages.
 */
#include "probe.h"
#include "pages.h"

PROBE(TITLE("sums of page faults")
      SINCE("2.6.31")
      POINT(sum, "over fresh pages, page-faults is the sum of minor-faults and major-faults")
      POINT(kernel_excluded, "faults that the kernel takes for a task are not in its user-mode "
	    "count"))

#define PAGES 64

static int open_running(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);

	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

TEST(sum)
{
	enum { ALL, MINOR, MAJOR };
	int fds[] = { open_running(PERF_COUNT_SW_PAGE_FAULTS),
		      open_running(PERF_COUNT_SW_PAGE_FAULTS_MIN),
		      open_running(PERF_COUNT_SW_PAGE_FAULTS_MAJ) };
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
		say_broken("all=%" PRIu64 " minor=%" PRIu64 " major=%" PRIu64, counts[ALL],
			   counts[MINOR], counts[MAJOR]);
}

TEST(kernel_excluded)
{
	int fd = open_running(PERF_COUNT_SW_PAGE_FAULTS), pipes[2];
	volatile char *area = map_fresh(-1, PAGES);
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
		say_broken("faults of read(2)=%" PRIu64 " want=0, own=%" PRIu64 " want=%d", count,
			   user, PAGES);
}

PROBE_MAIN
