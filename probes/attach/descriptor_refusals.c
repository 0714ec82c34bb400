/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the descriptor of an event not do? A library that wraps descriptors tries. Observed:
 * the answers to lseek(2), write(2), to a read that is too short, and to an ioctl(2) of nobody.
 */
#include "probe.h"

PROBE(TITLE("what the descriptor of an event refuses")
      SINCE("2.6.31")
      POINT(no_seek, "lseek is refused with ESPIPE")
      POINT(no_write, "write is refused with EINVAL")
      POINT(short_read, "a read of fewer than 8 bytes is refused with ENOSPC")
      POINT(unknown_ioctl, "an ioctl it does not know is refused with ENOTTY"))

static int open_event(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	return must_open(&attr, 0, -1, -1, 0);
}

static int answer_of(long result)
{
	return result < 0 ? -errno : 0;
}

static void refused(int got, int want)
{
	if (got != -want)
		say_broken("answer=%s want=%s", pm_errno_name(got), pm_errno_name(want));
}

TEST(no_seek)
{
	refused(answer_of(lseek(open_event(), 0, SEEK_CUR)), ESPIPE);
}

TEST(no_write)
{
	refused(answer_of(write(open_event(), "12345678", 8)), EINVAL);
}

TEST(short_read)
{
	char small[4];

	refused(answer_of(read(open_event(), small, sizeof(small))), ENOSPC);
}

TEST(unknown_ioctl)
{
	refused(pm_ioctl(open_event(), _IO('$', 250), 0), ENOTTY);
}

PROBE_MAIN
