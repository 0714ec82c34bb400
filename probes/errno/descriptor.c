/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does an event's descriptor answer to calls that it is not made for?
 *
 * Descriptors are handed to code that knows nothing of perf: standard I/O seeks, shells ask for a
 * terminal, event loops write. Each call must fail with the errno of its kind and leave the event
 * counting. Libraries probe for features by ENOTTY, so a number that no release has assigned must
 * give it.
 */
#include "probe.h"

#define UNASSIGNED _IO('$', 200)	/* far behind those that will be given out next */
#define GET_TERMINAL 0x5401		/* TCGETS on most architectures */

/* name, call, its errno, what is called */
#define CALLS(X)                                                                               \
	X(position, lseek(fd, 0, SEEK_SET), ESPIPE, "lseek")                                   \
	X(read_at, pread(fd, words, 8, 0), ESPIPE, "pread")                                    \
	X(writing, write(fd, words, 8), EINVAL, "write")                                       \
	X(shorten, ftruncate(fd, 0), EINVAL, "ftruncate")                                      \
	X(flush, fsync(fd), EINVAL, "fsync")                                                   \
	X(unknown_ioctl, ioctl(fd, UNASSIGNED, words), ENOTTY, "ioctl number 200")             \
	X(terminal_ioctl, ioctl(fd, GET_TERMINAL, words), ENOTTY, "an ioctl of terminals")     \
	X(ioctl_on_pipe, ioctl(a_pipe(), PERF_EVENT_IOC_ENABLE, 0), ENOTTY,                    \
	  "perf's ioctl on a pipe")                                                            \
	X(read_bad_pointer, read(fd, nowhere, 64), EFAULT, "read into a bad pointer")          \
	X(read_short, read(fd, words, seven), ENOSPC, "read into 7 bytes")                     \
	X(read_nothing, read(fd, words, 0), ENOSPC, "read of no bytes")                        \
	X(closed, read(closed_one(fd), words, 8), EBADF, "read of a closed descriptor")

#define DECLARE(name, call, error, what) POINT(name, what " is " #error)
PROBE(TITLE("errnos of an event's descriptor")
      SINCE("2.6.31")
      CALLS(DECLARE)
      POINT(counts_on, "after all of these the event still counts exactly"))

static void *volatile nowhere = (void *)8;
static volatile size_t seven = 7;
static uint64_t words[32];

static int enabled(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

static int a_pipe(void)
{
	int ends[2];

	return pipe(ends) < 0 ? -1 : ends[0];
}

static int closed_one(int fd)
{
	int other = dup(fd);

	close(other);
	return other;
}

/* `result` is -1 with errno, as the C library leaves it. */
static void must_fail(long result, int want, const char *what)
{
	const int error = errno;

	if (result != -1)
		say_broken("%s: result=%ld want=%s", what, result, pm_errno_name(want));
	if (error != want)
		say_broken("%s: errno=%s want=%s", what, pm_errno_name(error), pm_errno_name(want));
}

#define ASK(name, call, error, what)                                                           \
	TEST(name)                                                                             \
	{                                                                                      \
		int fd = enabled();                                                            \
		must_fail(call, error, what);                                                  \
		close(fd);                                                                     \
	}
CALLS(ASK)

TEST(counts_on)
{
	int fd = enabled();

#define CALL(name, call, error, what) must_fail(call, error, what);
	CALLS(CALL)
	expect_gain(fd, NULL, 8, 8);
}

PROBE_MAIN
