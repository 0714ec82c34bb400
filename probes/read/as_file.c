/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of a file is a counter to read(2)? A reader in an event loop sets O_NONBLOCK, and one
 * that polls many counters does not want to seek back each time.
 * Observed: repeated reads of a stopped counter, and reads with O_NONBLOCK of a running one.
 */
#include "probe.h"

PROBE(TITLE("reading a counter like a file")
      SINCE("2.6.31")
      POINT(whole_each_time, "each read gives the whole value: there is no file position")
      POINT(nonblocking, "O_NONBLOCK changes nothing"))

TEST(whole_each_time)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t first, second;

	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	first = must_count(fd);
	second = must_count(fd);
	if (first < 7 || first != second)
		say_broken("first=%" PRIu64 " second=%" PRIu64, first, second);
}

TEST(nonblocking)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fd = must_open(&attr, 0, -1, -1, 0);

	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	ASSERT_NE(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	expect_gain(fd, NULL, 7, 7);
}

PROBE_MAIN
