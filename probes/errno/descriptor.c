/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does an event's descriptor answer to calls that it is not made for?
 *
 * A descriptor is handed to code that knows nothing of perf: standard I/O seeks, shells ask for a
 * terminal, event loops write. Each call must fail with the errno of its kind and leave the event
 * counting.
 */
#include "probe.h"

PROBE(TITLE("errnos of an event's descriptor")
      SINCE("2.6.31")
      POINT(position, "lseek is ESPIPE")
      POINT(read_at, "pread is ESPIPE")
      POINT(writing, "write is EINVAL")
      POINT(shorten, "ftruncate is EINVAL")
      POINT(flush, "fsync is EINVAL")
      POINT(unknown_ioctl, "an ioctl number of perf's own that is not assigned is ENOTTY")
      POINT(terminal_ioctl, "an ioctl of terminals is ENOTTY")
      POINT(ioctl_on_pipe, "an ioctl of perf on a pipe is ENOTTY")
      POINT(read_bad_pointer, "read into a bad pointer is EFAULT")
      POINT(read_short, "read into a buffer too short is ENOSPC")
      POINT(read_nothing, "read of no bytes is ENOSPC")
      POINT(closed, "read of a closed descriptor is EBADF")
      POINT(counts_on, "after all of these the event still counts exactly"))

static int event(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_count(fd);
	cause_faults(1);		/* the pages of this very code are there from now on */
	return fd;
}

/* `result` is -1 with errno, as the C library leaves it. */
static void must_fail(struct __test_metadata *_metadata, long result, int want)
{
	const int error = errno;

	if (result != -1)
		broken("result=%ld want=%s", result, errno_name(want));
	if (error != want)
		broken("errno=%s want=%s", errno_name(error), errno_name(want));
}

static long try_write(int fd)
{
	uint64_t word = 1;

	return write(fd, &word, sizeof(word));
}

static long try_ioctl(int fd, unsigned long request)
{
	char room[256];

	return ioctl(fd, request, room);
}

static long try_read(int fd, void *buffer, size_t size)
{
	return read(fd, buffer, size);
}

static long try_read_at(int fd)
{
	uint64_t word;

	return pread(fd, &word, sizeof(word), 0);
}

static void *volatile nowhere = (void *)8;

#define UNASSIGNED _IO('$', 200)
#define GET_TERMINAL 0x5401		/* TCGETS on most architectures */

TEST(position)
{
	must_fail(_metadata, lseek(event(_metadata), 0, SEEK_SET), ESPIPE);
}

TEST(read_at)
{
	must_fail(_metadata, try_read_at(event(_metadata)), ESPIPE);
}

TEST(writing)
{
	must_fail(_metadata, try_write(event(_metadata)), EINVAL);
}

TEST(shorten)
{
	must_fail(_metadata, ftruncate(event(_metadata), 0), EINVAL);
}

TEST(flush)
{
	must_fail(_metadata, fsync(event(_metadata)), EINVAL);
}

TEST(unknown_ioctl)
{
	must_fail(_metadata, try_ioctl(event(_metadata), UNASSIGNED), ENOTTY);
}

TEST(terminal_ioctl)
{
	must_fail(_metadata, try_ioctl(event(_metadata), GET_TERMINAL), ENOTTY);
}

TEST(ioctl_on_pipe)
{
	int ends[2];

	event(_metadata);
	ASSERT_EQ(0, pipe(ends));
	must_fail(_metadata, try_ioctl(ends[0], PERF_EVENT_IOC_ENABLE), ENOTTY);
}

TEST(read_bad_pointer)
{
	must_fail(_metadata, try_read(event(_metadata), nowhere, 64), EFAULT);
}

TEST(read_short)
{
	char buffer[8];

	must_fail(_metadata, try_read(event(_metadata), buffer, 7), ENOSPC);
}

TEST(read_nothing)
{
	char buffer[8];

	must_fail(_metadata, try_read(event(_metadata), buffer, 0), ENOSPC);
}

TEST(closed)
{
	int fd = event(_metadata);
	char buffer[8];

	close(fd);
	must_fail(_metadata, try_read(fd, buffer, 8), EBADF);
}

TEST(counts_on)
{
	int fd = event(_metadata);
	uint64_t before, after;

	lseek(fd, 0, SEEK_END);
	try_write(fd);
	try_ioctl(fd, UNASSIGNED);
	try_ioctl(fd, GET_TERMINAL);
	try_read(fd, nowhere, 64);
	before = must_count(fd);
	cause_faults(8);
	after = must_count(fd);
	if (after - before != 8)
		broken("counted=%" PRIu64 " want=8", after - before);
}

PROBE_MAIN
